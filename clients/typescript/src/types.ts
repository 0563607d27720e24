/** Short names for the generated types of the API. */
import type { components, operations } from "./schema.ts";

type Operations = operations;
type OperationId = keyof Operations;

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
 * const body: Body<"createKey"> = { name: "CI", scopes: ["links:write"] };
 */
export type Body<Operation extends OperationId> = Operations[Operation] extends {
  requestBody: { content: { "application/json": infer Content } };
}
  ? Content
  : never;

/**
 * The body of an operation's successful response, by its `operationId`. Errors are `ShorthopError`s.
 *
 * @example
 * const summary: ResponseBody<"getSummary"> = await shorthop.analytics.summary(link.id);
 */
export type ResponseBody<Operation extends OperationId> =
  Operations[Operation]["responses"][keyof Operations[Operation]["responses"]] extends {
    content: { "application/json": infer Content };
  }
    ? Content
    : never;

/**
 * A link as lists and creations return it.
 *
 * @example
 * const byAlias = new Map<string, Link>();
 */
export type Link = components["schemas"]["Link"];
/**
 * A link with every field, as `links.get` and `links.update` return it.
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
 * An API key without its value, which only `keys.create` and `keys.rotate` return.
 *
 * @example
 * const isActive = (key: ApiKey) => key.revoked_at === null;
 */
export type ApiKey = ResponseBody<"getKey">;
