/**
 * The error pages, the password form, the confirmation and about pages: small, accessible, without
 * external assets, and in the languages of the catalogues.
 */
import type { ByteRange } from "../../shared/bytes.ts";
import { directionOf } from "../../shared/contracts/languages.ts";
import { ConfigError } from "../../shared/env.ts";
import {
  type Catalogue,
  CATALOGUES,
  type Catalogues,
  FALLBACK,
  HEADER_LENGTH_MAX,
  inEachLanguage,
  LanguageChoice,
} from "../../shared/languages/catalogues.ts";
import { type Text, type Texts, textsOf } from "../../shared/languages/messages.ts";
import { cached } from "../../shared/visitors/cache.ts";
import type { Config } from "../config.ts";
import { decodeLatin1 } from "../http/bytes.ts";
import { EMPTY_BODY, PAGE_BYTES_MAX, type PageResponse } from "../http/response.ts";
import { AboutContent, type AboutLink } from "./about-page.ts";
import {
  CHALLENGE,
  confirmationForm,
  PageForm,
  PASSWORD_STATES,
  passwordForm,
  type PasswordState,
} from "./link-forms.ts";
import {
  CONTENT,
  escapeText,
  fillTemplate,
  headersOf,
  isTranslatable,
  mapValues,
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

export class ErrorPages {
  readonly #pagesIn: (code: string) => LanguagePages;
  readonly #fallback: LanguagePages;
  readonly #chooseLanguage: (header: string) => string;

  /**
   * Renders all pages from `template`, by replacing `{{title}}`, `{{content}}`, `{{lang}}` and
   * `{{dir}}`; `<style>` elements are allowed. A template without `{{lang}}` gets English pages
   * only. Throws {@link TemplateError} when a page has more than {@link PAGE_BYTES_MAX} bytes, or
   * too many styles.
   */
  constructor(template: string = TEMPLATE, catalogues: Catalogues = CATALOGUES) {
    const headers = headersOf(template);
    const translatable = isTranslatable(template);
    const offered = Object.fromEntries(
      Object.entries(catalogues).filter(([code]) => translatable || code === FALLBACK),
    );
    this.#pagesIn = inEachLanguage((code, { redirector }) => {
      const language = translatable ? { "content-language": code, vary: "Accept-Language" } : {};
      const texts = textsOf(code, redirector);
      return new LanguagePages(template, code, texts, { ...headers, ...language });
    }, offered);
    this.#fallback = this.#pagesIn(FALLBACK);
    const languages = new LanguageChoice(Object.keys(offered));
    this.#chooseLanguage = cached(LANGUAGES_MAX, (header: string) => languages.choose(header));
  }

  /** The pages of the operator's template, if any. Throws {@link ConfigError} if it is invalid. */
  static async load({ PAGE_TEMPLATE_FILE: path }: Config): Promise<ErrorPages> {
    if (path === undefined) return new ErrorPages();
    const template = await Bun.file(path)
      .slice(0, PAGE_BYTES_MAX + 1)
      .text()
      .catch((cause: unknown) => {
        throw new ConfigError(`PAGE_TEMPLATE_FILE: cannot be read: ${path}`, { cause });
      });
    for (const placeholder of ["{{title}}", "{{content}}"]) {
      if (!template.includes(placeholder))
        throw new ConfigError(`PAGE_TEMPLATE_FILE: ${path} has no ${placeholder}`);
    }
    try {
      return new ErrorPages(template);
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      throw new ConfigError(`PAGE_TEMPLATE_FILE: ${path} ${error.message}`, { cause: error });
    }
  }

  /** The pages in the language that a visitor accepts; they outlive the head. */
  of({ bytes, language: { start, end } }: { bytes: Buffer; language: ByteRange }): LanguagePages {
    if (start === end) return this.#fallback;
    // A longer header must be seen to be longer; the rest of it is not even decoded.
    const header = decodeLatin1(bytes, start, Math.min(end, start + HEADER_LENGTH_MAX + 1));
    return this.#pagesIn(this.#chooseLanguage(header));
  }
}

/** The pages in one language, each rendered once but for what depends on the link. */
export class LanguagePages {
  readonly #headers: PageHeaders;
  readonly #messages: Record<keyof typeof MESSAGES, { status: number; body: Buffer }>;
  readonly #passwordForms: Record<PasswordState, PageForm>;
  readonly #confirmation: PageForm;
  readonly #aboutContent: AboutContent;
  readonly #aroundAbout: readonly string[];

  /** `headers` are those of all pages. */
  constructor(
    template: string,
    code: string,
    texts: Texts<Catalogue["redirector"]>,
    headers: PageHeaders,
  ) {
    const language = { lang: code, dir: directionOf(code) };
    const fill = (title: Text, content: string): string =>
      fillTemplate(template, { ...language, title: escapeText(title), content });
    const { messages, password, confirmation, about } = texts;
    this.#headers = headers;
    this.#messages = mapValues(MESSAGES, (status, name) => {
      const { title, text } = messages[name];
      return { status, body: Buffer.from(checkSize(fill(title, `<p>${escapeText(text)}</p>`))) };
    });
    this.#passwordForms = mapValues(
      PASSWORD_STATES,
      (_, state) => new PageForm(checkSize(fill(password.title, passwordForm(password, state)))),
    );
    this.#confirmation = new PageForm(
      checkSize(fill(confirmation.title, confirmationForm(confirmation))),
    );
    this.#aroundAbout = fill(about.title, CONTENT).split(CONTENT);
    this.#aboutContent = new AboutContent(code, about);
  }

  /** Returns an error page; `headers` are added to those of every page. */
  message(name: keyof typeof MESSAGES, headers: PageHeaders = {}): PageResponse {
    return { ...this.#messages[name], headers: { ...this.#headers, ...headers } };
  }

  /** Returns the page on which a visitor, with a referrer, confirms the redirect. */
  confirmation(referrer = ""): PageResponse {
    return { status: 200, headers: this.#headers, body: this.#confirmation.bodyFor(referrer) };
  }

  /** Returns the password form, as `confirmation`; `headers` are added to those of every page. */
  password(state: PasswordState, headers: PageHeaders = {}, referrer = ""): PageResponse {
    const status = PASSWORD_STATES[state];
    const challenge = status === 401 ? CHALLENGE : {};
    return {
      status,
      headers: { ...this.#headers, ...challenge, ...headers },
      body: this.#passwordForms[state].bodyFor(referrer),
    };
  }

  /** Renders the about page of a link at an instant `now`, in Unix milliseconds. */
  about(link: AboutLink, now: number): PageResponse {
    const content = this.#aboutContent.render(link, now);
    const body = Buffer.from(this.#aroundAbout.join(content));
    return { status: 200, headers: this.#headers, body };
  }
}

/** Returns a page if it is not too long; throws {@link TemplateError} otherwise. */
function checkSize(page: string): string {
  const length = Buffer.byteLength(page);
  if (length > PAGE_BYTES_MAX)
    throw new TemplateError(
      `makes a page of ${length} bytes; at most ${PAGE_BYTES_MAX} are allowed`,
    );
  return page;
}

/** `/robots.txt`: robots may fetch everything, so that they see the `noindex` of each page. */
export const ROBOTS: PageResponse = {
  status: 200,
  headers: { "content-type": "text/plain; charset=utf-8", "x-robots-tag": "noindex" },
  body: Buffer.from("User-agent: *\nAllow: /\n"),
};

/** `/healthz`: the process responds. */
export const HEALTHY: PageResponse = {
  status: 200,
  headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" },
  body: Buffer.from("ok\n"),
};

/** `/favicon.ico`: there is no icon. */
export const FAVICON: PageResponse = {
  status: 204,
  headers: { "cache-control": "max-age=86400" },
  body: EMPTY_BODY,
};
