/** Routes of `/v1/events`. */
import { Elysia } from "elysia";

import { confirmOf, principalOf } from "../http/request-context.ts";
import type { AccessPlugin } from "../site.ts";
import { eventListResponse, eventsQuery } from "./model.ts";
import type { EventService } from "./service.ts";

export const eventRoutes = (auth: AccessPlugin, events: EventService) =>
  new Elysia({ name: "events", prefix: "/v1/events", tags: ["Events"] })
    .use(auth)
    .get(
      "",
      ({ call, query, request }) =>
        events.list(principalOf(call), query, { signal: request.signal, confirm: confirmOf(call) }),
      {
        access: "events:read",
        errors: ["cursor_expired", "forbidden"],
        query: eventsQuery,
        response: { 200: eventListResponse },
        detail: {
          operationId: "listEvents",
          summary: "List events, oldest or newest first",
          description:
            "The ledger of the account and mode: what happened to its links, domains, keys, members and shares, whoever or whatever caused it. With the scope `audit:read` also who signed in, how the account was run, and from which networks. The order never changes: nothing appears before a cursor that has been returned. Events are kept for 30 days unless the operator chose otherwise; then `cursor_expired`. `clicks.recorded` is recorded while somebody reads that type: within seconds of the first request that names it, until a week after the last.",
        },
      },
    );
