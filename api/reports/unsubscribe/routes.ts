/**
 * Where recipients of reports unsubscribe without signing in. `GET` only asks, because programs
 * follow the addresses in mails; `POST` unsubscribes, from the page or by one click of a mail
 * program (RFC 8058).
 */
import { Elysia } from "elysia";
import * as z from "zod";

import { escapeHtml } from "../../http/html.ts";
import { addVary } from "../../http/vary.ts";
import { pageHeaders, renderDocument } from "../../shares/public/document.ts";
import { type PageLanguage, pageLanguageOf } from "../../shares/public/page-language.ts";
import type { AccessPlugin } from "../../site.ts";
import { unsubscribeTexts } from "./texts.ts";
import type { Unsubscriber } from "./unsubscriber.ts";

type UnsubscribeRoutesDeps = { auth: AccessPlugin; unsubscriber: Unsubscriber };

/** No schema of a token: one that is malformed gets the page of one that is invalid. */
const TOKEN_LENGTH_MAX = 100;

const params = z.object({ token: z.string().max(TOKEN_LENGTH_MAX) });

const UNREAD_BODY = Object.freeze({});

export const unsubscribeRoutes = ({ auth, unsubscriber }: UnsubscribeRoutesDeps) =>
  new Elysia({ name: "unsubscribe", prefix: "/unsubscribe" })
    .use(auth)
    .get(
      "/:token",
      ({ params: { token }, request, set }) =>
        respond(request, set, unsubscriber.isValid(token) ? "question" : "invalid"),
      { access: "public", params, detail: { hide: true } },
    )
    .post(
      "/:token",
      async ({ params: { token }, request, set }) =>
        respond(request, set, (await unsubscriber.unsubscribe(token)) ? "done" : "invalid"),
      {
        access: "public",
        // What mail programs send says nothing that the address does not.
        parse: () => UNREAD_BODY,
        params,
        detail: { hide: true },
      },
    );

type Answer = "question" | "done" | "invalid";

type ResponseSettings = { status?: number | string; headers: Record<string, string | number> };

function respond(request: Request, set: ResponseSettings, answer: Answer): Response {
  const language = pageLanguageOf(request.headers.get("accept-language") ?? "");
  delete set.headers["x-frame-options"];
  Object.assign(set.headers, pageHeaders(language, []));
  addVary(set.headers, "Accept-Language");
  const status = answer === "invalid" ? 404 : 200;
  set.status = status;
  return new Response(renderPage(language, answer), { status });
}

function renderPage(language: PageLanguage, answer: Answer): string {
  const { title, submit, ...texts } = unsubscribeTexts(language.code);
  const form = `<form method="post"><button type="submit" class="button">${escapeHtml(submit())}</button></form>`;
  return renderDocument(
    language,
    title(),
    `<main class="message card">
<h1>${escapeHtml(title())}</h1>
<p role="status">${escapeHtml(texts[answer]())}</p>
${answer === "question" ? form : ""}
</main>`,
  );
}
