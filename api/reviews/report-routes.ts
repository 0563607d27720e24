/**
 * `/report-link`: where visitors of a link report it, from the page about the link (`/alias+`).
 * They have no account. `GET` asks why, and only that page can post, so that no other one makes its
 * visitors report.
 */
import { Elysia } from "elysia";
import * as z from "zod";

import { inEachLanguage } from "../../shared/languages/catalogues.ts";
import { textsOf } from "../../shared/languages/messages.ts";
import { leaveUnread, readBody } from "../http/json-body.ts";
import { requireSameOrigin } from "../http/origins.ts";
import type { ResponseSettings } from "../http/request-context.ts";
import { NetworkWindow } from "../limits/windows.ts";
import { SHORT_URL_LENGTH_MAX } from "../links/short-url.ts";
import { sendCard } from "../shares/public/document.ts";
import type { AccessPlugin } from "../site.ts";
import { type LinkReports, REASON_LENGTH_MAX } from "./service.ts";

/** Bytes of a posted form, of which each character can have 12 when it is percent-encoded. */
const FORM_BYTES_MAX = 12 * (SHORT_URL_LENGTH_MAX + REASON_LENGTH_MAX) + 100;

const query = z.object({ url: z.string().max(SHORT_URL_LENGTH_MAX) });

/** `originOf` returns the site's own origin for a request. */
export function linkReportRoutes(
  auth: AccessPlugin,
  reports: LinkReports,
  originOf: (request: Request) => string,
) {
  const networks = new NetworkWindow("link_reports");
  return new Elysia({ name: "link-reports", prefix: "/report-link" })
    .use(auth)
    .get("", ({ query: { url }, request, set }) => respond(request, set, "question", url), {
      access: "page",
      query,
      detail: { hide: true },
    })
    .post(
      "",
      async ({ call, request, set }) => {
        requireSameOrigin(request, originOf(request));
        const bytes = await readBody(request, FORM_BYTES_MAX);
        const form = new URLSearchParams(new TextDecoder().decode(bytes));
        const url = (form.get("url") ?? "").slice(0, SHORT_URL_LENGTH_MAX);
        const reason = toReason(form.get("reason") ?? "");
        if (reason === "") return respond(request, set, "no_reason", url);
        if (!networks.consume(call.address).granted) return respond(request, set, "limited", url);
        return respond(request, set, (await reports.report(url, reason)) ? "done" : "not_found");
      },
      { access: "page", parse: leaveUnread, detail: { hide: true } },
    );
}

/** A text that an operator's terminal can show. */
const toReason = (text: string): string =>
  text
    .slice(0, REASON_LENGTH_MAX)
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}]+/gu, " ")
    .trim();

const STATUSES = {
  question: 200,
  no_reason: 400,
  limited: 429,
  not_found: 404,
  done: 200,
} as const;

/** What a page says: the form (`question`), or what came of it. */
type Outcome = keyof typeof STATUSES;

/** The texts in a language by its code; English for others. */
const textsIn = inEachLanguage((code, { report_link }) => textsOf(code, report_link));

/** `url` is that of the link, if the page has the form. */
const respond = (
  request: Request,
  set: ResponseSettings,
  outcome: Outcome,
  url?: string,
): Response =>
  sendCard(request, set, STATUSES[outcome], (code) => {
    const { title, ...texts } = textsIn(code);
    const role = outcome === "question" ? "" : ` role="${outcome === "done" ? "status" : "alert"}"`;
    const form =
      url === undefined
        ? ""
        : `<p><code>${Bun.escapeHTML(url)}</code></p>
<form method="post" action="/report-link" class="field">
<input type="hidden" name="url" value="${Bun.escapeHTML(url)}">
<label for="reason">${Bun.escapeHTML(texts.reason())}</label>
<textarea id="reason" name="reason" rows="5" maxlength="${REASON_LENGTH_MAX}" required></textarea>
<button type="submit" class="button button-plain">${Bun.escapeHTML(texts.submit())}</button>
</form>`;
    return {
      title: title(),
      content: `<p${role}>${Bun.escapeHTML(texts[outcome]())}</p>\n${form}`,
    };
  });
