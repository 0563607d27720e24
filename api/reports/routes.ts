/** Routes of `/v1/reports`. */
import { Elysia } from "elysia";
import * as z from "zod";

import { inEachLanguage } from "../../shared/languages/catalogues.ts";
import { textsOf } from "../../shared/languages/messages.ts";
import { confirmAfter, successResponse } from "../http/common-schemas.ts";
import { listQuery, respondWithList } from "../http/pagination.ts";
import { originOf, principalOf, type ResponseSettings } from "../http/request-context.ts";
import { created } from "../idempotency/idempotency.ts";
import { sendCard } from "../shares/public/document.ts";
import type { AccessPlugin } from "../site.ts";
import type { Unsubscriber } from "./mails.ts";
import {
  newReportBody,
  reportListResponse,
  reportParams,
  reportResponse,
  runListResponse,
  runResponse,
  toReportResponse,
  toRunResponse,
  updateReportBody,
} from "./model.ts";
import type { ReportService } from "./service.ts";

/** The requirement that the service checks, besides the route's scope. */
const NEEDS_READER =
  "Nobody can have reports made of what they may not read: `analytics:read` and `links:read` are required as well.";

/** `shortUrl` is the origin of short links. */
export const reportRoutes = (auth: AccessPlugin, reports: ReportService, shortUrl: string) =>
  new Elysia({ name: "reports", prefix: "/v1/reports", tags: ["Reports"] })
    .use(auth)
    .post(
      "",
      ({ body, runOnce }) =>
        runOnce(async (principal, id) => {
          const row = await reports.create(principal, id, body);
          return created("/v1/reports", toReportResponse(row, shortUrl));
        }),
      {
        access: "reports:write",
        idempotent: "plain",
        errors: ["quota_exceeded"],
        body: newReportBody,
        response: { 201: reportResponse },
        detail: {
          operationId: "createReport",
          summary: "Create a report",
          description: `It is made of each week or month that is over, as an event \`report.ready\`. An account and mode has up to 20 reports. ${NEEDS_READER}`,
        },
      },
    )
    .get(
      "",
      ({ call, query }) =>
        respondWithList(
          query,
          "reports",
          (request) => reports.list(principalOf(call), request),
          (row) => toReportResponse(row, shortUrl),
        ),
      {
        access: "reports:read",
        query: listQuery,
        response: { 200: reportListResponse },
        detail: { operationId: "listReports", summary: "List reports" },
      },
    )
    .get(
      "/:id",
      async ({ call, params }) =>
        toReportResponse(await reports.get(principalOf(call), params.id), shortUrl),
      {
        access: "reports:read",
        params: reportParams,
        response: { 200: reportResponse },
        detail: { operationId: "getReport", summary: "Get a report" },
      },
    )
    .patch(
      "/:id",
      async ({ call, params, body }) =>
        toReportResponse(await reports.update(principalOf(call), params.id, body), shortUrl),
      {
        access: "reports:write",
        params: reportParams,
        body: updateReportBody,
        response: { 200: reportResponse },
        detail: {
          operationId: "updateReport",
          summary: "Change a report",
          description: `Changes the fields that the body has; \`status\` pauses the report, or continues it. ${NEEDS_READER}`,
        },
      },
    )
    .delete(
      "/:id",
      ({ call, params }) =>
        confirmAfter(reports.remove(principalOf(call), params.id), "The report has been deleted."),
      {
        access: "reports:write",
        params: reportParams,
        response: { 200: successResponse },
        detail: {
          operationId: "deleteReport",
          summary: "Delete a report",
          description: "What it was made of is deleted as well; events remain.",
        },
      },
    )
    .post(
      "/:id/send",
      async ({ call, params }) => toRunResponse(await reports.send(principalOf(call), params.id)),
      {
        access: { scope: "reports:write", endpoint: null, cost: 1, expensive: true },
        params: reportParams,
        response: { 200: runResponse },
        detail: {
          operationId: "sendReport",
          summary: "Make a report now",
          description: `Makes a report of the last week or month that is over, also when it was made of it before. A free account can do so ten times an hour. ${NEEDS_READER}`,
        },
      },
    )
    .get(
      "/:id/runs",
      async ({ call, params }) => {
        const runs = await reports.listRuns(principalOf(call), params.id);
        return { data: runs.map(toRunResponse) };
      },
      {
        access: "reports:read",
        params: reportParams,
        response: { 200: runListResponse },
        detail: {
          operationId: "listReportRuns",
          summary: "List what a report was made of",
          description: "The 20 newest runs of a report. They are kept for 400 days.",
        },
      },
    );

// Where recipients of reports unsubscribe without signing in. `GET` only asks, because programs
// follow the addresses in mails; `POST` unsubscribes, from the page or by one click of a mail
// program (RFC 8058).

/** No schema of a token: one that is malformed gets the page of one that is invalid. */
const TOKEN_LENGTH_MAX = 100;

const params = z.object({ token: z.string().max(TOKEN_LENGTH_MAX) });

export const unsubscribeRoutes = (auth: AccessPlugin, unsubscriber: Unsubscriber) =>
  new Elysia({ name: "unsubscribe", prefix: "/unsubscribe" })
    .use(auth)
    .get(
      "/:token",
      ({ params: { token }, request, set }) =>
        respond(request, set, unsubscriber.isValid(token) ? "question" : "invalid"),
      { access: "page", params, detail: { hide: true } },
    )
    .post(
      "/:token",
      async ({ call, params: { token }, request, set }) => {
        const isDone = await unsubscriber.unsubscribe(token, originOf(call));
        return respond(request, set, isDone ? "done" : "invalid");
      },
      {
        access: "page",
        // The body that mail programs send is not read: the address says all.
        params,
        detail: { hide: true },
      },
    );

/** What a page says: the form (`question`), or what came of it. */
type Outcome = "question" | "done" | "invalid";

/** The texts in a language by its code; English for others. */
const textsIn = inEachLanguage((code, { reports }) => textsOf(code, reports.unsubscribe));

const respond = (request: Request, set: ResponseSettings, outcome: Outcome): Response =>
  sendCard(request, set, outcome === "invalid" ? 404 : 200, (code) => {
    const { title, submit, ...texts } = textsIn(code);
    const form = `<form method="post"><button type="submit" class="button">${Bun.escapeHTML(submit())}</button></form>`;
    const content = `<p role="status">${Bun.escapeHTML(texts[outcome]())}</p>
${outcome === "question" ? form : ""}`;
    return { title: title(), content };
  });
