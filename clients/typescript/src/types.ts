/** The API's shapes under short names, read off the generated description. */
import type { components, operations } from "./schema.ts";

type Operations = operations;
type Name = keyof Operations;

/** Parameters of an operation's query. */
export type Query<Operation extends Name> = NonNullable<
  Operations[Operation]["parameters"]["query"]
>;

/** An operation's body. */
export type Body<Operation extends Name> = Operations[Operation] extends {
  requestBody: { content: { "application/json": infer Content } };
}
  ? Content
  : never;

/** What an operation answers when all is well. */
export type Answer<Operation extends Name> =
  Operations[Operation]["responses"][keyof Operations[Operation]["responses"]] extends {
    content: { "application/json": infer Content };
  }
    ? Content
    : never;

export type Link = components["schemas"]["Link"];
export type FullLink = components["schemas"]["FullLink"];
export type NewLink = components["schemas"]["NewLink"];
export type LinkChange = components["schemas"]["LinkChange"];
export type Domain = components["schemas"]["Domain"];
export type ApiKey = Answer<"getKey">;
