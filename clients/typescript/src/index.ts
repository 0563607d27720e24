/** The TypeScript client of the Shorthop API. */
export { type CallOptions, type Client, createClient } from "./client.ts";
export { type ClientOptions, ShorthopError } from "./http.ts";
export type {
  ApiKey,
  Body,
  Domain,
  FullLink,
  Link,
  LinkChange,
  NewLink,
  Query,
  ResponseBody,
} from "./types.ts";
