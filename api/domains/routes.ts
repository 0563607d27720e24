/** Routes of `/v1/domains`. */
import { Elysia } from "elysia";

import { changeDomainBody } from "../../shared/contracts/domain-settings.ts";
import { confirmAfter, successResponse } from "../http/common-schemas.ts";
import { listQuery, respondWithList } from "../http/pagination.ts";
import { principalOf } from "../http/request-context.ts";
import { created } from "../idempotency/idempotency.ts";
import type { AccessPlugin } from "../site.ts";
import {
  domainListResponse,
  domainParams,
  domainResponse,
  newDomainBody,
  toDomainResponse,
  verificationResponse,
} from "./model.ts";
import type { DomainService } from "./service.ts";

/** `shortUrl` is the origin of short links. */
export const domainRoutes = (auth: AccessPlugin, domains: DomainService, shortUrl: string) =>
  new Elysia({ name: "domains", prefix: "/v1/domains", tags: ["Domains"] })
    .use(auth)
    .post(
      "",
      ({ body, runOnce }) =>
        runOnce(async (principal, id) => {
          const row = await domains.create(principal, id, body.domain);
          return created("/v1/domains", toDomainResponse(row, shortUrl));
        }),
      {
        access: { scope: "domains:write", endpoint: "POST /v1/domains", cost: 1 },
        idempotent: "plain",
        errors: ["domain_taken", "quota_exceeded"],
        body: newDomainBody,
        response: { 201: domainResponse },
        detail: {
          operationId: "createDomain",
          summary: "Add a domain",
          description:
            "The domain stays pending until `verifyDomain` finds the TXT record in the response. Returns `domain_taken` if another account has verified the domain, and has not lost its proof, or your account has added it already, and `quota_exceeded` if the account has reached its maximum.",
        },
      },
    )
    .get(
      "",
      ({ call, query }) =>
        respondWithList(
          query,
          "domains",
          (request) => domains.list(principalOf(call), request),
          (row) => toDomainResponse(row, shortUrl),
        ),
      {
        access: "domains:read",
        query: listQuery,
        response: { 200: domainListResponse },
        detail: { operationId: "listDomains", summary: "List domains" },
      },
    )
    .get(
      "/:id",
      async ({ call, params }) =>
        toDomainResponse(await domains.get(principalOf(call), params.id), shortUrl),
      {
        access: "domains:read",
        params: domainParams,
        response: { 200: domainResponse },
        detail: { operationId: "getDomain", summary: "Get a domain" },
      },
    )
    .patch(
      "/:id",
      async ({ call, params, body, set }) => {
        const { row, propagated } = await domains.update(principalOf(call), params.id, body);
        if (!propagated) set.headers["x-propagation"] = "pending";
        return toDomainResponse(row, shortUrl);
      },
      {
        access: "domains:write",
        errors: ["invalid_url", "aliases_collide", "conflict"],
        params: domainParams,
        body: changeDomainBody,
        response: { 200: domainResponse },
        detail: {
          operationId: "updateDomain",
          summary: "Change the settings of a domain",
          description:
            "Fields that are left out stay as they are; null switches one off. The domain must be verified. A change of `case_sensitive` returns `aliases_collide` while aliases differ only in case, and is complete when `switching` is gone from the domain.",
        },
      },
    )
    .post(
      "/:id/verify",
      async ({ call, params }) => {
        const { row, problem, askedAt } = await domains.verify(principalOf(call), params.id);
        const checked_at = askedAt?.toISOString() ?? null;
        return { ...toDomainResponse(row, shortUrl), problem, checked_at };
      },
      {
        access: "domains:write",
        errors: ["domain_taken"],
        params: domainParams,
        response: { 200: verificationResponse },
        detail: {
          operationId: "verifyDomain",
          summary: "Verify a domain",
          description:
            "Asks DNS for the TXT record anew. If it is missing or has another value, `status` stays `pending` and `problem` says why.",
        },
      },
    )
    .delete(
      "/:id",
      ({ call, params }) =>
        confirmAfter(domains.remove(principalOf(call), params.id), "The domain has been removed."),
      {
        access: "domains:write",
        errors: ["domain_in_use"],
        params: domainParams,
        response: { 200: successResponse },
        detail: {
          operationId: "deleteDomain",
          summary: "Delete a domain",
          description: "Returns `domain_in_use` while the domain has links.",
        },
      },
    );
