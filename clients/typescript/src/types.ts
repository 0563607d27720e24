/** Short names for the generated types of the API. */
import type { components, operations as Operations } from "./schema.ts";

export type OperationId = keyof Operations;

/**
 * The query parameters of an operation, by its `operationId`.
 *
 * @example
 * const query: Query<"listLinks"> = { search: "spring", sort: "clicks" };
 */
export type Query<Operation extends OperationId> = NonNullable<
  Operations[Operation]["parameters"]["query"]
>;

/**
 * The request body of an operation, by its `operationId`; `never` when it has none.
 *
 * @example
 * const body: Body<"createApiKey"> = { name: "CI", scopes: ["links:write"] };
 */
export type Body<Operation extends OperationId> = Operations[Operation] extends {
  requestBody: { content: { "application/json": infer Content } };
}
  ? Content
  : never;

/**
 * The body of an operation's successful response, by its `operationId`. Errors are
 * `ShorthopError`s.
 *
 * @example
 * const summary: ResponseBody<"getLinkAnalytics"> = await shorthop.analytics.summary(link.id);
 */
export type ResponseBody<Operation extends OperationId> =
  Operations[Operation]["responses"][keyof Operations[Operation]["responses"]] extends {
    content: { "application/json": infer Content };
  }
    ? Content
    : never;

/**
 * A page of a list by page number, by its `operationId`. It has the total, which a page by cursor
 * does not have.
 *
 * @example
 * const page: PageBody<"listLinks"> = await shorthop.links.list({ limit: 50 });
 */
export type PageBody<Operation extends OperationId> = ResponseBody<Operation> & {
  pagination: components["schemas"]["Pagination"];
};

/**
 * A link as creations and lists return it, with every setting that is on; `forward_query`, the UTM
 * parameters and the rest with `include: "settings"`.
 *
 * @example
 * const byAlias = new Map<string, Link>();
 */
export type Link = components["schemas"]["Link"];
/**
 * A link as `links.get` and `links.update` return it, with `unique_clicks`, `updated_at` and
 * `has_password`; `forward_query` and the UTM parameters with `include: "settings"`.
 *
 * @example
 * const link: FullLink = await shorthop.links.get(id);
 */
export type FullLink = components["schemas"]["FullLink"];
/**
 * The fields of a link to create; only `url` is required.
 *
 * @example
 * const link: NewLink = { url: "https://example.com/", expires_at: "2030-01-01T00:00:00Z" };
 */
export type NewLink = components["schemas"]["NewLink"];
/**
 * The fields of a link to change; those left out stay, `null` clears one.
 *
 * @example
 * const change: LinkChange = { title: "Spring sale", password: null };
 */
export type LinkChange = components["schemas"]["LinkChange"];
/**
 * A custom domain with the TXT record that proves its ownership.
 *
 * @example
 * const isUsable = (domain: Domain) => domain.status === "verified";
 */
export type Domain = components["schemas"]["Domain"];
/**
 * A tag with its colour, the number of its links, and their clicks together.
 *
 * @example
 * const isUnused = ({ clicks }: Tag) => clicks === 0;
 */
export type Tag = components["schemas"]["Tag"];
/**
 * A saved view of analytics.
 *
 * @example
 * const paramsOf = ({ query }: SavedView) => new URLSearchParams(query);
 */
export type SavedView = components["schemas"]["SavedView"];
/**
 * An API key without its value, which only `keys.create` and `keys.rotate` return.
 *
 * @example
 * const isActive = (key: ApiKey) => key.revoked_at === null;
 */
export type ApiKey = ResponseBody<"getApiKey">;
/**
 * Shared statistics without their URL, which only `shares.create` returns.
 *
 * @example
 * const isOpen = (share: Share) => !share.has_password;
 */
export type Share = components["schemas"]["Share"];
/**
 * A webhook without its secret, which only `webhooks.create` and `webhooks.rotate` return.
 *
 * @example
 * const isOff = ({ status }: Webhook) => status !== "active";
 */
export type Webhook = components["schemas"]["Webhook"];
/**
 * An event that is sent to a webhook, and the outcome.
 *
 * @example
 * const isLate = ({ status, attempts }: WebhookDelivery) => status === "pending" && attempts > 0;
 */
export type WebhookDelivery = components["schemas"]["WebhookDelivery"];
/**
 * A report: the statistics of each week or month, made when it is over.
 *
 * @example
 * const isOff = ({ next_run_at }: Report) => next_run_at === null;
 */
export type Report = components["schemas"]["Report"];
/**
 * The run of a report for one week or month.
 *
 * @example
 * const daysOf = ({ first_day, last_day }: ReportRun) => `${first_day} – ${last_day}`;
 */
export type ReportRun = components["schemas"]["ReportRun"];
/**
 * An event of the ledger. Types are added: ignore those that you do not know.
 *
 * @example
 * const isAboutLink = ({ type }: LedgerEvent) => type.startsWith("link.");
 */
export type LedgerEvent = components["schemas"]["Event"];
/**
 * A single click, as `clicks.all` and `clicks.export` yield it. What is unknown is `Unknown` for a
 * browser or system, `ZZ` for a country, and empty for other texts.
 *
 * @example
 * const isFromMail = ({ utm_medium }: Click) => utm_medium === "email";
 */
export type Click = components["schemas"]["ListedClick"];
