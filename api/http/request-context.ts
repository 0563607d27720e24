/** The context of a request: its id, which its response and log lines contain, and its `call`. */
import { Elysia } from "elysia";

import type { ClientAddress } from "../../shared/client-address.ts";
import type { Confirm, Principal, Session } from "./principal.ts";
import type { LimitWindow } from "./rate-limit.ts";
import { requireValidHost } from "./site-headers.ts";

/** The state of a request while it is handled. */
export type Call = {
  /** The client's address; empty when the connection is already closed. */
  address: string;
  /** Set once the caller is authenticated for an account. */
  principal?: Principal;
  /** Set with the principal: asks again, for what lasts longer than a request. */
  confirm?: Confirm;
  /** Set once the caller is authenticated by a session. */
  session?: Session;
  /** The rate-limit windows from which the request was consumed. */
  windows: readonly LimitWindow[];
};

export type RequestContext = ReturnType<typeof requestContextPlugin>;

/** A client's own request id is used if it is safe in a header and in a log. */
const REQUEST_ID_FORM = /^[\w.-]{1,128}$/;

/** The plugin that adds a `call` to each routed request, and a request id to every response. */
export const requestContextPlugin = (clientAddress: ClientAddress) =>
  new Elysia({ name: "request-context" })
    .onRequest((context) => {
      const { request, set } = context;
      // Keeps the framework from parsing the query before authentication, which takes up to 12 ms
      // for 15 KB of escapes; `access` reads it afterwards (`query.ts`). `qi` is the index of the
      // question mark that the framework has found; its types lack it. Inlined, because passing the
      // context to a function makes the framework read bodies.
      (context as { qi?: number }).qi = -1;
      const sent = request.headers.get("x-request-id");
      set.headers["x-request-id"] =
        sent !== null && REQUEST_ID_FORM.test(sent) ? sent : Bun.randomUUIDv7();
      requireValidHost(request);
    })
    .derive({ as: "global" }, ({ request, server }) => {
      const call: Call = { address: addressOf(request, server, clientAddress), windows: [] };
      return { call };
    });

/** The client's address, read through trusted proxies. */
export const addressOf = (
  request: Request,
  server: { requestIP(request: Request): { address: string } | null } | null,
  clientAddress: ClientAddress,
): string =>
  clientAddress(server?.requestIP(request)?.address ?? "", request.headers.get("x-forwarded-for"));

/** The caller of a route with an access rule. Throws for a route without one. */
export function principalOf(call: Call | undefined): Principal {
  if (call?.principal === undefined) throw new Error("The route declares no access rule.");
  return call.principal;
}

/**
 * What a response that lasts asks before it goes on: its caller may have lost the right to it.
 * Throws for a route without an access rule.
 */
export function confirmOf(call: Call | undefined): Confirm {
  if (call?.confirm === undefined) throw new Error("The route declares no access rule.");
  return call.confirm;
}
