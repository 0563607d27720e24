/** `/v1/domains`. */
import { Elysia } from "elysia";

import { decodeId } from "../../shared/ids.ts";
import { type AuthPlugin, principalOf } from "../auth/plugin.ts";
import { doneAnswer, idParams } from "../http/fields.ts";
import { listQuery, paginationOf } from "../http/pages.ts";
import type { Once } from "../idempotency/once.ts";
import {
  createDomainBody,
  domainAnswer,
  domainListAnswer,
  toDomainAnswer,
  verifiedAnswer,
} from "./model.ts";
import type { DomainService } from "./service.ts";

type DomainRoutesDeps = { auth: AuthPlugin; once: Once; domains: DomainService };

export const domainRoutes = ({ auth, once, domains }: DomainRoutesDeps) =>
  new Elysia({ name: "domains", prefix: "/v1/domains", tags: ["Domains"] })
    .use(auth)
    .post(
      "",
      async ({ call, request, body, set }) => {
        const principal = principalOf(call);
        return await once({ principal, request, body, set }, async (id) => {
          const answer = toDomainAnswer(await domains.create(principal, id, body.domain));
          return { status: 201, headers: { location: `/v1/domains/${answer.id}` }, answer };
        });
      },
      {
        access: { scope: "domains:write", limit: "POST /v1/domains", cost: 1 },
        jsonBody: "required",
        idempotent: true,
        errors: ["domain_taken"],
        body: createDomainBody,
        response: { 201: domainAnswer },
        detail: {
          operationId: "createDomain",
          summary: "Add a domain",
          description:
            "The domain is pending until the TXT record named in the answer is found. `domain_taken` when an account has verified it, or yours has added it already.",
        },
      },
    )
    .get(
      "",
      async ({ call, query: { page, limit } }) => {
        const { rows, total } = await domains.list(principalOf(call), page, limit);
        return { data: rows.map(toDomainAnswer), pagination: paginationOf(page, limit, total) };
      },
      {
        access: { scope: "domains:read", limit: null, cost: 1 },
        query: listQuery,
        response: { 200: domainListAnswer },
        detail: { operationId: "listDomains", summary: "List domains" },
      },
    )
    .get(
      "/:id",
      async ({ call, params }) =>
        toDomainAnswer(await domains.get(principalOf(call), decodeId("dom", params.id))),
      {
        access: { scope: "domains:read", limit: null, cost: 1 },
        params: idParams,
        response: { 200: domainAnswer },
        detail: { operationId: "getDomain", summary: "Get a domain" },
      },
    )
    .post(
      "/:id/verify",
      async ({ call, params }) => {
        const id = decodeId("dom", params.id);
        const { row, problem } = await domains.verify(principalOf(call), id);
        return { ...toDomainAnswer(row), problem };
      },
      {
        access: { scope: "domains:write", limit: null, cost: 1 },
        errors: ["domain_taken"],
        params: idParams,
        response: { 200: verifiedAnswer },
        detail: {
          operationId: "verifyDomain",
          summary: "Verify a domain",
          description:
            "Looks for the TXT record now. While it is not found, `status` stays `pending` and `problem` says why.",
        },
      },
    )
    .delete(
      "/:id",
      async ({ call, params }) => {
        await domains.remove(principalOf(call), decodeId("dom", params.id));
        return { success: true, message: "The domain has been removed." };
      },
      {
        access: { scope: "domains:write", limit: null, cost: 1 },
        errors: ["domain_in_use"],
        params: idParams,
        response: { 200: doneAnswer },
        detail: {
          operationId: "deleteDomain",
          summary: "Remove a domain",
          description: "Refused with `domain_in_use` while the domain has links.",
        },
      },
    );
