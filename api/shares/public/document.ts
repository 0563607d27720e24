/**
 * The HTML documents of pages that people without an account open: in the language of the reader,
 * with a policy that allows only what the document contains.
 */
import { createHash } from "node:crypto";

import { directionOf } from "../../../shared/contracts/languages.ts";
import {
  type Catalogue,
  CATALOGUES,
  inEachLanguage,
  LanguageChoice,
} from "../../../shared/languages/catalogues.ts";
import { type Texts, textsOf } from "../../../shared/languages/messages.ts";
import type { StatisticsLanguage } from "../../../shared/statistics/language.ts";
import { acceptsCoding } from "../../http/compression.ts";
import { addVary, type ResponseSettings } from "../../http/request-context.ts";

import base from "../../../shared/statistics/base.css" with { type: "text" };
import page from "./page.css" with { type: "text" };

export type PageLanguage = {
  /** Such as `de`. */
  code: string;
  direction: "ltr" | "rtl";
  texts: Texts<Catalogue["shares"]>;
  /** The language of the components that the dashboard has as well. */
  statistics: StatisticsLanguage;
};

/** The language of a catalogue. */
export function toPageLanguage(code: string, { shares, statistics }: Catalogue): PageLanguage {
  const texts = textsOf(code, statistics);
  return {
    code,
    direction: directionOf(code),
    texts: textsOf(code, shares),
    statistics: { tag: code, translate: (text, values) => texts[text](values) },
  };
}

const languageOf = inEachLanguage(toPageLanguage);

const languages = new LanguageChoice(Object.keys(CATALOGUES));

/** Returns the language of the page for a reader, by the header `Accept-Language`; "" for none. */
export const pageLanguageOf = (header: string): PageLanguage =>
  languageOf(languages.choose(header));

/** Code within a page, and how its policy names it. */
export type Inline = { text: string; hash: string };

export const toInline = (text: string): Inline => ({
  text,
  hash: `'sha256-${createHash("sha256").update(text).digest("base64")}'`,
});

/** A style sheet without comments and indentation, of which every page has a copy. */
export const toStyle = (sheets: readonly string[]): Inline =>
  toInline(
    sheets
      .join("\n")
      .replaceAll(/\/\*.*?\*\//gs, "")
      .replaceAll(/\s+/g, " "),
  );

const STYLE = toStyle([base, page]);

export type Code = {
  /** Style sheets beside that of every page. */
  styles: readonly Inline[];
  scripts: readonly Inline[];
};

const NO_CODE: Code = { styles: [], scripts: [] };

/**
 * The headers of a page in a language that only pages of `embedOrigins` may frame. The origins were
 * checked when they were stored.
 */
export function pageHeaders(
  { code }: PageLanguage,
  embedOrigins: readonly string[],
  { styles, scripts }: Code = NO_CODE,
): Record<string, string> {
  const ancestors = embedOrigins.length === 0 ? "'none'" : embedOrigins.join(" ");
  const policy = [
    "default-src 'none'",
    `style-src ${[STYLE, ...styles].map(({ hash }) => hash).join(" ")}`,
    ...(scripts.length === 0 ? [] : [`script-src ${scripts.map(({ hash }) => hash).join(" ")}`]),
    "img-src data:",
    "form-action 'self'",
    `frame-ancestors ${ancestors}`,
    "base-uri 'none'",
  ];
  return {
    "content-type": "text/html; charset=utf-8",
    "content-language": code,
    "content-security-policy": policy.join("; "),
    "cache-control": "private, no-store",
    // Not `no-referrer`: browsers would send the form without its origin.
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-robots-tag": "noindex, nofollow",
  };
}

/** A document in a language; `content` is HTML. Scripts run when the content is there. */
export const renderDocument = (
  { code, direction }: PageLanguage,
  title: string,
  content: string,
  { styles, scripts }: Code = NO_CODE,
): string => `<!doctype html>
<html lang="${code}" dir="${direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<meta name="color-scheme" content="light dark">
<title>${Bun.escapeHTML(title)}</title>
<link rel="icon" href="data:,">
${[STYLE, ...styles].map(({ text }) => `<style>${text}</style>`).join("\n")}
</head>
<body>
${content}
${scripts.map(({ text }) => `<script>${text}</script>`).join("\n")}
</body>
</html>
`;

/** A document of one card with a heading; `content` is HTML. */
const renderCard = (language: PageLanguage, title: string, content: string): string =>
  renderDocument(
    language,
    title,
    `<main class="message card">
<h1>${Bun.escapeHTML(title)}</h1>
${content}
</main>`,
  );

/** A page that explains why there are no statistics. `back` links to those that there are. */
export const renderMessage = (
  language: PageLanguage,
  text: string,
  { back = false } = {},
): string => {
  const title = language.texts.title();
  const link = back ? `<p><a href="?">${Bun.escapeHTML(language.texts.back())}</a></p>` : "";
  return renderCard(language, title, `<p role="alert">${Bun.escapeHTML(text)}</p>\n${link}`);
};

/** The form for the password; `alert` explains why the last attempt failed. */
export const renderPasswordForm = (language: PageLanguage, alert: string): string => {
  const { title, label, submit } = language.texts.password;
  return renderCard(
    language,
    title(),
    `${alert === "" ? "" : `<p role="alert">${Bun.escapeHTML(alert)}</p>`}
<form method="post" class="field">
<label for="password">${Bun.escapeHTML(label())}</label>
<input id="password" name="password" type="password" maxlength="128" autocomplete="off" required autofocus>
<button type="submit" class="button button-plain">${Bun.escapeHTML(submit())}</button>
</form>`,
  );
};

export type Page = {
  status: number;
  headers: Record<string, string>;
  /** HTML as text, or compressed by gzip. */
  body: string | { gzip: Uint8Array<ArrayBuffer> };
};

/** Sends a page with its own headers instead of the site's. */
export function sendPage(
  { status, headers, body }: Page,
  request: Request,
  set: ResponseSettings,
): Response {
  // The page's policy decides who may frame it.
  delete set.headers["x-frame-options"];
  Object.assign(set.headers, headers);
  addVary(set.headers, "Accept-Language");
  set.status = status;
  if (typeof body === "string") return new Response(body, { status });
  addVary(set.headers, "Accept-Encoding");
  if (!acceptsCoding(request.headers, "gzip")) {
    return new Response(Bun.gunzipSync(body.gzip), { status });
  }
  set.headers["content-encoding"] = "gzip";
  return new Response(body.gzip, { status });
}

/** Sends a page of one card in the reader's language, by whose code `render` makes it. */
export function sendCard(
  request: Request,
  set: ResponseSettings,
  status: number,
  render: (code: string) => { title: string; content: string },
): Response {
  const language = pageLanguageOf(request.headers.get("accept-language") ?? "");
  const { title, content } = render(language.code);
  const body = renderCard(language, title, content);
  return sendPage({ status, headers: pageHeaders(language, []), body }, request, set);
}
