/** Routes of `/v1/links`. */
import { Elysia } from "elysia";

import {
  newLinkBody,
  updateLinkBody,
  upsertLinkBody,
} from "../../shared/contracts/link-schemas.ts";
import { encodeId } from "../../shared/ids.ts";
import { successResponse } from "../http/common-schemas.ts";
import { invalidField } from "../http/errors.ts";
import { type ListRequest, respondWithList } from "../http/pagination.ts";
import { principalOf, type ResponseSettings } from "../http/request-context.ts";
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
import { explainBody, explanation } from "./explain.ts";
import { listName } from "./listing/filter.ts";
import {
  externalIdParams,
  type Include,
  includeAllQuery,
  includeQuery,
  linkParams,
  type LinkRow,
  listLinksQuery,
  lookupQuery,
} from "./model.ts";
import {
  fullLink,
  linkEtag,
  linkListResponse,
  linkResponse,
  propagationHeaders,
  toFullLink,
  toLink,
} from "./responses.ts";
import type { LinkService } from "./service.ts";
import { requireShortUrl } from "./short-url.ts";

/** Error codes of a change of a link by its id. */
const CHANGE_ERRORS = [
  "invalid_url",
  "invalid_alias",
  "alias_taken",
  "external_id_taken",
  "link_taken_down",
] as const;

export const linkRoutes = (auth: AccessPlugin, links: LinkService, shortUrl: string) =>
  new Elysia({ name: "links", prefix: "/v1/links", tags: ["Links"] })
    .use(auth)
    .post(
      "",
      ({ query: { include }, body, runOnce }) =>
        runOnce(async (principal, id) => {
          const { link, propagated } = await links.create(principal, id, body);
          const created = toLink(link, shortUrl, include);
          const headers = {
            location: `/v1/links/${created.id}`,
            etag: linkEtag(link),
            ...propagationHeaders(propagated),
          };
          return { status: 201, headers, body: created };
        }),
      {
        access: { scope: "links:write", endpoint: "POST /v1/links", cost: 1 },
        idempotent: "plain",
        errors: ["invalid_url", "invalid_alias", "alias_taken", "external_id_taken"],
        query: includeAllQuery,
        body: newLinkBody,
        response: { 201: linkResponse },
        detail: {
          operationId: "createLink",
          summary: "Create a link",
          description:
            "The link redirects as soon as you receive the response, which has every setting that is on: `forward_query` and the UTM parameters with `include=settings`. Returns `invalid_url`, `invalid_alias` or `alias_taken` when the link is not valid.",
        },
      },
    )
    .get(
      "/lookup",
      async ({ call, query: { short_url, alias, domain, include }, set }) => {
        if ((short_url === undefined) === (alias === undefined))
          throw invalidField("short_url", "exactly one of short_url and alias is required");
        const name =
          short_url === undefined ? { aliases: [alias ?? ""], domain } : requireShortUrl(short_url);
        const link = await links.lookUp(principalOf(call), name);
        return sendLink(link, set, shortUrl, include);
      },
      {
        access: "links:read",
        conditionalRead: true,
        errors: ["not_found"],
        query: lookupQuery,
        response: { 200: fullLink },
        detail: {
          operationId: "lookUpLink",
          summary: "Find a link by its short URL",
          description: "By `short_url`, or by `alias` and `domain`.",
        },
      },
    )
    .get(
      "/:id",
      async ({ call, params, query: { include }, set }) => {
        const link = await links.get(principalOf(call), params.id);
        return sendLink(link, set, shortUrl, include);
      },
      {
        access: "links:read",
        conditionalRead: true,
        params: linkParams,
        query: includeQuery,
        response: { 200: fullLink },
        detail: { operationId: "getLink", summary: "Get a link" },
      },
    )
    .get(
      "",
      ({ call, query }) => {
        const read = (request: ListRequest) => links.list(principalOf(call), query, request);
        const toItem = (row: LinkRow) => toLink(row, shortUrl, query.include);
        return respondWithList(query, listName(query), read, toItem);
      },
      {
        access: "links:read",
        query: listLinksQuery,
        response: { 200: linkListResponse },
        detail: {
          operationId: "listLinks",
          summary: "List links",
          description:
            "By page, with an exact total, or by cursor: with `starting_after`, nothing is skipped or repeated while links are created and deleted. Pages after the last one are empty. By cursor a response may have fewer links than `limit`; the list ends where `next_cursor` is null.",
        },
      },
    )
    .patch(
      "/:id",
      async ({ call, params, query: { include }, body, requireVersion, set }) => {
        const principal = principalOf(call);
        const { link, propagated } = await links.update(principal, params.id, body, requireVersion);
        Object.assign(set.headers, propagationHeaders(propagated));
        return sendLink(link, set, shortUrl, include);
      },
      {
        access: "links:write",
        conditionalWrite: true,
        errors: CHANGE_ERRORS,
        params: linkParams,
        query: includeQuery,
        body: updateLinkBody,
        response: { 200: fullLink },
        detail: {
          operationId: "updateLink",
          summary: "Update a link",
          description: "Updates the fields in the body; null removes an optional field.",
        },
      },
    )
    .get(
      "/external/:external_id",
      async ({ call, params, query: { include }, set }) => {
        const link = await links.getExternal(principalOf(call), params.external_id);
        return sendLink(link, set, shortUrl, include);
      },
      {
        access: "links:read",
        conditionalRead: true,
        params: externalIdParams,
        query: includeQuery,
        response: { 200: fullLink },
        detail: { operationId: "getLinkByExternalId", summary: "Get a link by your own id" },
      },
    )
    .patch(
      "/external/:external_id",
      async ({ call, params, query: { include }, body, requireVersion, set }) => {
        const principal = principalOf(call);
        const { id } = await links.findExternal(principal, params.external_id);
        const { link, propagated } = await links.update(principal, id, body, requireVersion);
        Object.assign(set.headers, propagationHeaders(propagated));
        return sendLink(link, set, shortUrl, include);
      },
      {
        access: "links:write",
        conditionalWrite: true,
        errors: CHANGE_ERRORS,
        params: externalIdParams,
        query: includeQuery,
        body: updateLinkBody,
        response: { 200: fullLink },
        detail: {
          operationId: "updateLinkByExternalId",
          summary: "Update a link by your own id",
          description: "Updates the fields in the body; null removes an optional field.",
        },
      },
    )
    .put(
      "/external/:external_id",
      async ({ call, params, query: { include }, body, request, requireVersion, set }) => {
        const { link, propagated, created } = await links.upsert(principalOf(call), {
          externalId: params.external_id,
          body,
          requireVersion,
          mustExist: request.headers.has("if-match"),
        });
        Object.assign(set.headers, propagationHeaders(propagated));
        const full = sendLink(link, set, shortUrl, include);
        if (!created) return full;
        set.status = 201;
        set.headers["location"] = `/v1/links/${full.id}`;
        return full;
      },
      {
        access: "links:write",
        conditionalWrite: true,
        errors: ["invalid_url", "invalid_alias", "alias_taken", "link_taken_down"],
        params: externalIdParams,
        query: includeQuery,
        body: upsertLinkBody,
        response: { 200: fullLink, 201: fullLink },
        detail: {
          operationId: "upsertLink",
          summary: "Create or replace a link by your own id",
          description:
            "Replaces all fields of the link with this `external_id` by those in the body, or creates the link: what the body does not have is removed, but for the alias, which stays. `PATCH` changes single fields. A creation takes a row of the budget `bulk_rows`, as one in bulk does. `domain` cannot be changed.",
        },
      },
    )
    .delete(
      "/external/:external_id",
      async ({ call, params, requireVersion, set }) => {
        const principal = principalOf(call);
        const { id } = await links.findExternal(principal, params.external_id);
        const { propagated } = await links.remove(principal, id, requireVersion);
        Object.assign(set.headers, propagationHeaders(propagated));
        return { success: true, message: "The link has been deleted." };
      },
      {
        access: "links:delete",
        conditionalWrite: true,
        errors: ["link_taken_down"],
        params: externalIdParams,
        response: { 200: successResponse },
        detail: {
          operationId: "deleteLinkByExternalId",
          summary: "Delete a link by your own id",
          description:
            "Deletes the link permanently: it stops redirecting, and its alias and your id become available.",
        },
      },
    )
    .delete(
      "/:id",
      async ({ call, params, requireVersion, set }) => {
        const { propagated } = await links.remove(principalOf(call), params.id, requireVersion);
        Object.assign(set.headers, propagationHeaders(propagated));
        return { success: true, message: "The link has been deleted." };
      },
      {
        access: "links:delete",
        conditionalWrite: true,
        errors: ["link_taken_down"],
        params: linkParams,
        response: { 200: successResponse },
        detail: {
          operationId: "deleteLink",
          summary: "Delete a link",
          description:
            "Deletes the link permanently: it stops redirecting, and its alias becomes available.",
        },
      },
    )
    .post(
      "/:id/explain",
      async ({ call, params, body }) => await links.explain(principalOf(call), params.id, body),
      {
        access: { scope: "links:read", endpoint: null, cost: 1, expensive: true },
        params: linkParams,
        body: explainBody,
        response: { 200: explanation },
        detail: {
          operationId: "explainLink",
          summary: "Explain where a link leads",
          description:
            "Decides a request as the redirectors do, and says why each rule before the one that matches did not. Records no click.",
        },
      },
    );

/** A link as reads and changes of one return it, with its entity tag. */
function sendLink(link: LinkRow, set: ResponseSettings, shortUrl: string, include: Include) {
  set.headers["etag"] = linkEtag(link);
  return toFullLink(link, shortUrl, include);
}

export const bulkLinkRoutes = (auth: AccessPlugin, links: LinkService, shortUrl: string) =>
  new Elysia({ name: "bulk-links", prefix: "/v1/links", tags: ["Links"] })
    .use(auth)
    .post(
      "/bulk",
      ({ query: { include }, body, runOnce }) =>
        runOnce(async (principal, id) => {
          const { results, propagated } = await links.createMany(principal, id, body.links);
          const { data, failed, succeeded } = toEntries(results, (row) => ({
            link: toLink(row, shortUrl, include),
          }));
          return {
            status: 200,
            headers: propagationHeaders(propagated),
            body: { data, created: succeeded, failed },
          };
        }),
      {
        access: { scope: "links:write", endpoint: null, cost: 1, expensive: true },
        idempotent: "plain",
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
        access: { scope: "links:write", endpoint: null, cost: 1, expensive: true },
        body: bulkCreateBody,
        response: { 200: bulkCheckResponse },
        detail: {
          operationId: "checkLinks",
          summary: "Check many links",
          description:
            "Checks for each of up to 100 links whether creating it would succeed, and creates none. The checks are those of `POST /v1/links/bulk`, without the daily quota of links. Another request can take an alias before the links are created. One request of the plan's limits; every alias takes one of the budget `checked_aliases`.",
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
        access: { scope: "links:write", endpoint: null, cost: 1, expensive: true },
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
        access: { scope: "links:delete", endpoint: null, cost: 1, expensive: true },
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
