/**
 * Where recipients of reports unsubscribe without signing in. `GET` only asks, because programs
 * follow the addresses in mails; `POST` unsubscribes, from the page or by one click of a mail
 * program (RFC 8058).
 */
import { Elysia } from "elysia";
import * as z from "zod";

import { inEachLanguage } from "../../shared/languages/catalogues.ts";
import { textsOf } from "../../shared/languages/messages.ts";
import { escapeHtml } from "../http/html.ts";
import { originOf, type ResponseSettings } from "../http/request-context.ts";
import {
  pageHeaders,
  type PageLanguage,
  pageLanguageOf,
  renderDocument,
  sendPage,
} from "../shares/public/document.ts";
import type { AccessPlugin } from "../site.ts";
import type { Unsubscriber } from "./mails.ts";

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
      { access: "public", params, detail: { hide: true } },
    )
    .post(
      "/:token",
      async ({ call, params: { token }, request, set }) => {
        const isDone = await unsubscriber.unsubscribe(token, originOf(call));
        return respond(request, set, isDone ? "done" : "invalid");
      },
      {
        access: "public",
        // The body that mail programs send is not read: the address says all.
        params,
        detail: { hide: true },
      },
    );

type Answer = "question" | "done" | "invalid";

function respond(request: Request, set: ResponseSettings, answer: Answer): Response {
  const language = pageLanguageOf(request.headers.get("accept-language") ?? "");
  const page = {
    status: answer === "invalid" ? 404 : 200,
    headers: pageHeaders(language, []),
    body: renderPage(language, answer),
  };
  return sendPage(page, request, set);
}

/** The texts in a language by its code; English for others. */
const textsIn = inEachLanguage((code, { reports }) => textsOf(code, reports.unsubscribe));

function renderPage(language: PageLanguage, answer: Answer): string {
  const { title, submit, ...texts } = textsIn(language.code);
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
