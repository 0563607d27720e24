/**
 * Who may call what. A route declares `access: { scope, limit, cost }`; before anything else of the
 * request is looked at, the caller is authenticated, the scope checked and the limits spent. How, an
 * admission says: by API key (`key-admission.ts`), or by session (`../sessions/admission.ts`).
 */
import { Elysia } from "elysia";

import type { ErrorCode } from "../http/errors.ts";
import { readJsonBody } from "../http/json-body.ts";
import type { Call, RequestContext } from "../http/request-context.ts";
import { type Access, accessDetail, noted } from "./access-rules.ts";
import type { Principal } from "./authorize.ts";

/** What an admission is told of a request. It fills in the call and sets headers of the answer. */
type Asked = { call: Call; request: Request; headers: Record<string, string | number> };

/** Lets a request pass, or throws why not. */
export type Admit = (asked: Asked, access: Access) => void | Promise<void>;

type AuthDeps = { admit: Admit; requestContext: RequestContext };

const UNREAD_BODY = Object.freeze({});

export type AuthPlugin = ReturnType<typeof authPlugin>;

/** The plugin with the `access` rule and the `jsonBody` of a route. */
export const authPlugin = ({ admit, requestContext }: AuthDeps) =>
  new Elysia({ name: "auth" })
    .use(requestContext)
    .macro({
      access: (access: Access) => ({
        detail: accessDetail(access),
        async transform({ call, request, set }) {
          if (call === undefined) throw new Error("The request context is missing.");
          await admit({ call, request, headers: set.headers }, access);
        },
      }),
      /** Stands behind `access`, so that a body is neither read nor judged for a stranger. */
      jsonBody: (presence: "required" | "optional") => ({
        // Elysia would read the body before the caller is known; this leaves it unread until then.
        parse: () => UNREAD_BODY,
        async transform(context) {
          const absent = presence === "optional" && context.request.body === null;
          context.body = absent ? {} : await readJsonBody(context.request);
        },
      }),
      /** Codes that this route can answer with beside those that follow from its other rules. */
      errors: (codes: readonly ErrorCode[]) => ({ detail: noted({ "x-errors": codes }) }),
      /** The route answers a repeated `Idempotency-Key`: see `idempotency/once.ts`. */
      idempotent: (does: true) => ({ detail: noted({ "x-idempotent": does }) }),
    })
    .as("scoped");

/** The caller of a route with an access rule. */
export function principalOf(call: Call | undefined): Principal {
  if (call?.principal === undefined) throw new Error("The route declares no access rule.");
  return call.principal;
}
