/** What every request has: an id, which its answer and its log lines carry, and a `call`. */
import { Elysia } from "elysia";

import type { ClientAddress } from "../../shared/client-address.ts";
import type { Principal } from "../auth/authorize.ts";
import type { LimitWindow } from "../limits/windows.ts";
import type { Session } from "../sessions/service.ts";

/** What is known of a request while it is answered. */
export type Call = {
  /** The client's address; empty when the connection is already gone. */
  address: string;
  /** Set once the caller is authenticated. */
  principal?: Principal;
  /** Set once a person is known by their session. */
  session?: Session;
  /** The windows the request was spent from. */
  windows: readonly LimitWindow[];
};

export type RequestContext = ReturnType<typeof requestContextPlugin>;

/** A client's own request id is kept when it is harmless in a header and a log. */
const REQUEST_ID_FORM = /^[\w.-]{1,128}$/;

/** The plugin that gives each routed request its `call`, and every answer its id. */
export const requestContextPlugin = (clientAddress: ClientAddress) =>
  new Elysia({ name: "request-context" })
    .onRequest(({ request, set }) => {
      const given = request.headers.get("x-request-id");
      set.headers["x-request-id"] =
        given !== null && REQUEST_ID_FORM.test(given) ? given : Bun.randomUUIDv7();
    })
    .derive({ as: "global" }, ({ request, server }) => {
      const call: Call = { address: addressOf(request, server, clientAddress), windows: [] };
      return { call };
    });

/** The address a request came from, by the proxies that are trusted. */
export const addressOf = (
  request: Request,
  server: { requestIP(request: Request): { address: string } | null } | null,
  clientAddress: ClientAddress,
): string =>
  clientAddress(server?.requestIP(request)?.address ?? "", request.headers.get("x-forwarded-for"));
