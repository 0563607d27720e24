/**
 * The error pages, the password form, the confirmation and about pages: small, accessible, without
 * external assets, and in the languages of the catalogues.
 */
import { directionOf } from "../../shared/contracts/text-direction.ts";
import {
  type Catalogue,
  CATALOGUES,
  type Catalogues,
  FALLBACK,
  inEachLanguage,
} from "../../shared/languages/catalogues.ts";
import { createLanguageChoice, HEADER_LENGTH_MAX } from "../../shared/languages/choose-language.ts";
import { createTexts, type Text, type Texts } from "../../shared/languages/messages.ts";
import { cached } from "../../shared/visitors/cache.ts";
import { decodeLatin1 } from "../http/bytes.ts";
import type { RequestHead } from "../http/request-head.ts";
import { PAGE_BYTES_MAX, type PageResponse } from "../http/response.ts";
import { type AboutLink, createAboutContent } from "./about-page.ts";
import {
  CHALLENGE,
  confirmationForm,
  PASSWORD_STATES,
  passwordForm,
  type PasswordState,
  prepareForm,
} from "./link-forms.ts";
import {
  CONTENT,
  createHeaders,
  fillTemplate,
  isTranslatable,
  TEMPLATE,
  TemplateError,
} from "./template.ts";

/** Maximum headers `Accept-Language` whose language is cached; each has 257 characters at most. */
const LANGUAGES_MAX = 2_000;

/** The status of each error page. */
const MESSAGES = {
  home: 200,
  bad_request: 400,
  not_found: 404,
  expired: 410,
  limit_reached: 410,
  busy: 503,
  taken_down: 451,
  method_not_allowed: 405,
  uri_too_long: 414,
  rate_limited: 429,
  unavailable: 503,
} as const;

type PageHeaders = Record<string, string>;

/** The pages in one language. */
export type LanguagePages = {
  /** Returns the page on which a visitor, with a referrer, confirms the redirect. */
  confirmation(referrer?: string): PageResponse;
  /** Returns an error page; `headers` are added to those of every page. */
  message(name: keyof typeof MESSAGES, headers?: PageHeaders): PageResponse;
  /** Returns the password form, as `confirmation`; `headers` are added to those of every page. */
  password(state: PasswordState, headers?: PageHeaders, referrer?: string): PageResponse;
  /** Renders the about page of a link at an instant `now`, in Unix milliseconds. */
  about(link: AboutLink, now: number): PageResponse;
};

export type ErrorPages = {
  /**
   * Returns the pages in the language that a visitor accepts. They stay valid when the bytes of the
   * head do not.
   */
  of(head: Pick<RequestHead, "bytes" | "language">): LanguagePages;
};

/**
 * Renders all pages from `template`, by replacing `{{title}}`, `{{content}}`, `{{lang}}` and
 * `{{dir}}`; `<style>` elements are allowed. A template without `{{lang}}` gets English pages only.
 * Throws {@link TemplateError} when a page has more than {@link PAGE_BYTES_MAX} bytes or too many
 * styles.
 */
export function createErrorPages(
  template: string = TEMPLATE,
  catalogues: Catalogues = CATALOGUES,
): ErrorPages {
  const headers = createHeaders(template);
  const translatable = isTranslatable(template);
  const offered = Object.fromEntries(
    Object.entries(catalogues).filter(([code]) => translatable || code === FALLBACK),
  );
  const pagesIn = inEachLanguage((code, { redirector }) => {
    const language = translatable ? { "content-language": code, vary: "Accept-Language" } : {};
    const texts = createTexts(code, redirector);
    return createLanguagePages(template, { code, texts }, { ...headers, ...language });
  }, offered);
  const fallback = pagesIn(FALLBACK);
  const chooseLanguage = cached(LANGUAGES_MAX, createLanguageChoice(Object.keys(offered)));
  return {
    of({ bytes, language: { start, end } }) {
      if (start === end) return fallback;
      // A longer header must be seen to be longer; the rest of it is not even decoded.
      const header = decodeLatin1(bytes, start, Math.min(end, start + HEADER_LENGTH_MAX + 1));
      return pagesIn(chooseLanguage(header));
    },
  };
}

/** Renders the pages of a language, each once; `pageHeaders` are those of all. */
function createLanguagePages(
  template: string,
  { code, texts }: { code: string; texts: Texts<Catalogue["redirector"]> },
  pageHeaders: PageHeaders,
): LanguagePages {
  const language = { lang: code, dir: directionOf(code) };
  const fill = (title: string, content: string): string =>
    fillTemplate(template, { ...language, title, content });

  function render(title: Text, content: string): string {
    const page = fill(escapeText(title), content);
    const length = Buffer.byteLength(page);
    if (length > PAGE_BYTES_MAX)
      throw new TemplateError(
        `makes a page of ${length} bytes; at most ${PAGE_BYTES_MAX} are allowed`,
      );
    return page;
  }

  const messages = mapValues(MESSAGES, (status, name) => {
    const { title, text } = texts.messages[name];
    return { status, body: Buffer.from(render(title, `<p>${escapeText(text)}</p>`)) };
  });
  const { password, confirmation } = texts;
  const forms = mapValues(PASSWORD_STATES, (status, state) => ({
    status,
    headers: status === 401 ? { ...pageHeaders, ...CHALLENGE } : pageHeaders,
    bodyFor: prepareForm(render(password.title, passwordForm(password, state))),
  }));
  const confirmationFor = prepareForm(render(confirmation.title, confirmationForm(confirmation)));
  const aroundAbout = fill(escapeText(texts.about.title), CONTENT).split(CONTENT);
  const aboutContent = createAboutContent(code, texts.about);

  return {
    confirmation: (referrer = "") => ({
      status: 200,
      headers: pageHeaders,
      body: confirmationFor(referrer),
    }),
    message: (name, headers = {}) => ({
      ...messages[name],
      headers: { ...pageHeaders, ...headers },
    }),
    password(state, added = {}, referrer = "") {
      const { status, headers, bodyFor } = forms[state];
      return { status, headers: { ...headers, ...added }, body: bodyFor(referrer) };
    },
    about: (link, now) => ({
      status: 200,
      headers: pageHeaders,
      body: Buffer.from(aroundAbout.join(aboutContent(link, now))),
    }),
  };
}

/** A text as HTML. */
const escapeText = (text: Text): string => Bun.escapeHTML(text());

/** Maps each value of an object. */
function mapValues<Name extends string, From, To>(
  values: Readonly<Record<Name, From>>,
  change: (value: From, name: Name) => To,
): Record<Name, To> {
  // The types of Object.entries and Object.fromEntries lose the names of `values`.
  const entries = (Object.entries(values) as [Name, From][]).map(([name, value]) => [
    name,
    change(value, name),
  ]);
  return Object.fromEntries(entries) as Record<Name, To>;
}
