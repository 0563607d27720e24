/** Routes for many links at once. */
import { Elysia } from "elysia";

import { encodeId } from "../../shared/ids.ts";
import { principalOf } from "../http/request-context.ts";
import type { Idempotency } from "../idempotency/idempotency.ts";
import type { AccessPlugin } from "../site.ts";
import {
  bulkCheckResponse,
  bulkCreateBody,
  bulkCreateResponse,
  bulkDeleteBody,
  bulkDeleteResponse,
  bulkUpdateBody,
  bulkUpdateResponse,
  toCheckResponse,
  toEntries,
} from "./bulk.ts";
import { includeAllQuery, includeQuery } from "./model.ts";
import { propagationHeaders, toFullLink, toLink } from "./responses.ts";
import type { LinkService } from "./service.ts";

export const bulkLinkRoutes = (
  auth: AccessPlugin,
  idempotency: Idempotency,
  links: LinkService,
  shortUrl: string,
) =>
  new Elysia({ name: "bulk-links", prefix: "/v1/links", tags: ["Links"] })
    .use(auth)
    .post(
      "/bulk",
      async ({ call, request, query: { include }, body, set }) => {
        const principal = principalOf(call);
        return await idempotency.run({ principal, request, body, set }, async (id) => {
          const { results, propagated } = await links.createMany(principal, id, body.links);
          const { data, failed, succeeded } = toEntries(results, (row) => ({
            link: toLink(row, shortUrl, include),
          }));
          return {
            status: 200,
            headers: propagationHeaders(propagated),
            body: { data, created: succeeded, failed },
          };
        });
      },
      {
        access: { scope: "links:write", limit: null, cost: 1, expensive: true },
        idempotent: true,
        query: includeAllQuery,
        body: bulkCreateBody,
        response: { 200: bulkCreateResponse },
        detail: {
          operationId: "createLinks",
          summary: "Create many links",
          description:
            "Creates up to 100 links; each row succeeds or fails on its own, and the first of rows with one alias wins. One request of the plan's limits. Every created link takes a row of the budget `bulk_rows`, which comes back by the hour, and counts toward the daily quota; rows that fail and replays take nothing. A request begins while the budget has a row, and is `rate_limited` as a whole otherwise. Links beyond the quota fail with `rate_limited`, and the whole request fails if none of the quota is left.",
        },
      },
    )
    .post(
      "/bulk/check",
      async ({ call, body }) =>
        toCheckResponse(await links.checkMany(principalOf(call), body.links)),
      {
        access: { scope: "links:write", limit: null, cost: 1, expensive: true },
        body: bulkCreateBody,
        response: { 200: bulkCheckResponse },
        detail: {
          operationId: "checkLinks",
          summary: "Check many links",
          description:
            "Checks for each of up to 100 links whether creating it would succeed, and creates none. The checks are those of `POST /v1/links/bulk`, without the daily quota of links. Another request can take an alias before the links are created. One request of the plan's limits.",
        },
      },
    )
    .patch(
      "/bulk",
      async ({ call, query: { include }, body, set }) => {
        const { results, propagated } = await links.updateMany(principalOf(call), body.links);
        Object.assign(set.headers, propagationHeaders(propagated));
        const { data, failed, succeeded } = toEntries(results, (row) => ({
          link: toFullLink(row, shortUrl, include),
        }));
        return { data, updated: succeeded, failed };
      },
      {
        access: { scope: "links:write", limit: null, cost: 1, expensive: true },
        query: includeQuery,
        body: bulkUpdateBody,
        response: { 200: bulkUpdateResponse },
        detail: {
          operationId: "updateLinks",
          summary: "Update many links",
          description:
            "Updates up to 100 links; each row succeeds or fails on its own. Each is checked against the links as they were before the request. A row can also move its link to another `domain` of the account: it fails with `alias_taken` where another link of that domain has its alias. One request of the plan's limits.",
        },
      },
    )
    .post(
      "/bulk/delete",
      async ({ call, body, set }) => {
        const { results, propagated } = await links.removeMany(principalOf(call), body.ids);
        Object.assign(set.headers, propagationHeaders(propagated));
        const { data, failed, succeeded } = toEntries(results, (row) => ({
          id: encodeId("link", row.id),
        }));
        return { data, deleted: succeeded, failed };
      },
      {
        access: { scope: "links:delete", limit: null, cost: 1, expensive: true },
        body: bulkDeleteBody,
        response: { 200: bulkDeleteResponse },
        detail: {
          operationId: "deleteLinks",
          summary: "Delete many links",
          description:
            "Deletes up to 100 links permanently; each id succeeds or fails on its own. One request of the plan's limits.",
        },
      },
    );
