/** The TypeScript client of the Shorthop API. */
export type { CallOptions, ChangeOptions } from "./calls.ts";
export { type Client, createClient } from "./client.ts";
export {
  type ErrorCode,
  type ErrorDetail,
  type ErrorOptions,
  type Progress,
  ShorthopError,
} from "./errors.ts";
export type { FollowOptions } from "./events.ts";
export type { ClientOptions } from "./http.ts";
export type { LiveClick, StreamOptions } from "./analytics.ts";
export type {
  ApiKey,
  Body,
  Click,
  Domain,
  FullLink,
  LedgerEvent,
  Link,
  LinkChange,
  NewLink,
  PageBody,
  Query,
  Report,
  ReportRun,
  ResponseBody,
  SavedView,
  Share,
  Tag,
  Webhook,
  WebhookDelivery,
} from "./types.ts";
export {
  type VerifyOptions,
  verifyWebhook,
  type WebhookEvent,
  type WebhookHeaders,
  WebhookVerificationError,
} from "./verification.ts";
