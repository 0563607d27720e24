/**
 * Responds to visitors of a shared statistics URL with a page, also when there is nothing to show.
 */
import { ApiError, invalidField } from "../../http/errors.ts";
import { type SharedPageQuery, type SharedQuery, sharedQuery } from "../model.ts";
import type { SharedService } from "../reading.ts";
import {
  type Page,
  pageHeaders,
  type PageLanguage,
  renderMessage,
  renderPasswordForm,
} from "./document.ts";

/** A visit of a share's page, in the language of its reader. */
export type Visit = { token: string; language: PageLanguage };

/** Says in a language why statistics cannot be read. */
type Explain = (language: PageLanguage, error: ApiError) => string;

const COOKIE = "shorthop_shared";

const ACCESS = /(?:^|;\s*)shorthop_shared=([\w.-]{1,64})(?:;|$)/;

export class SharedPages {
  readonly #shared: SharedService;
  readonly #secure: boolean;

  /** `secure` means that the site is reached by https. */
  constructor(shared: SharedService, secure: boolean) {
    this.#shared = shared;
    this.#secure = secure;
  }

  /** The statistics, or the form for their password. `cookies` is the header. */
  show(visit: Visit, cookies: string, query: SharedPageQuery): Promise<Page> {
    const { token, language } = visit;
    return this.#respond(visit, explainReading, async (embedOrigins) => {
      try {
        const access = ACCESS.exec(cookies)?.[1];
        const view = await this.#shared.read(token, access, parseQuery(query));
        // The components are loaded with the first page, not at the start of the process.
        const { renderStatistics } = await import("./page.tsx");
        const { gzip, code } = renderStatistics(view, language);
        return { status: 200, headers: pageHeaders(language, embedOrigins, code), body: { gzip } };
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (error.reason !== "unauthorized")
          return renderProblem(language, embedOrigins, error, explainReading);
        const headers = { ...pageHeaders(language, embedOrigins), ...error.headers };
        return { status: 401, headers, body: renderPasswordForm(language, "") };
      }
    });
  }

  /** Redirects to the statistics with a cookie that grants access, or back to the form. */
  unlock(visit: Visit, password: string, address: string): Promise<Page> {
    const { token, language } = visit;
    return this.#respond(visit, explainUnlocking, async (embedOrigins) => {
      const headers = pageHeaders(language, embedOrigins);
      try {
        const granted = await this.#shared.unlock(token, password, address);
        const cookie = writeCookie(token, granted, this.#secure);
        const location = `/shared/${token}`;
        return { status: 303, headers: { ...headers, location, "set-cookie": cookie }, body: "" };
      } catch (error) {
        if (!(error instanceof ApiError) || error.reason !== "forbidden") throw error;
        const body = renderPasswordForm(language, language.texts.password.wrong());
        return { status: 403, headers, body };
      }
    });
  }

  /** Renders what a share permits, or the reason why it cannot be read, as `explain` says it. */
  async #respond(
    { token, language }: Visit,
    explain: Explain,
    render: (embedOrigins: readonly string[]) => Promise<Page>,
  ): Promise<Page> {
    try {
      const { embed_origins } = await this.#shared.find(token);
      return await render(embed_origins);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return renderProblem(language, [], error, explain);
    }
  }
}

/** Explains an error, with a way back if the reader has chosen something else than is possible. */
function renderProblem(
  language: PageLanguage,
  embedOrigins: readonly string[],
  error: ApiError,
  explain: Explain,
): Page {
  const { status } = error;
  return {
    status,
    headers: { ...pageHeaders(language, embedOrigins), ...error.headers },
    body: renderMessage(language, explain(language, error), {
      back: status === 400 || status === 429,
    }),
  };
}

const explainReading: Explain = (language, error) =>
  error.reason === "rate_limited"
    ? language.texts.problems.many_ranges({ seconds: secondsOf(error) })
    : explainProblem(language, error);

const explainUnlocking: Explain = (language, error) =>
  error.reason === "rate_limited"
    ? language.texts.problems.many_tries({ seconds: secondsOf(error) })
    : explainProblem(language, error);

function explainProblem({ texts: { problems } }: PageLanguage, { reason, param }: ApiError) {
  if (reason === "not_found") return problems.not_found();
  if (reason !== "invalid_request") return problems.unavailable();
  if (param === "timezone") return problems.timezone();
  return param === "start_date" || param === "end_date" ? problems.dates() : problems.invalid();
}

/** The seconds after which a reader may try again. */
const secondsOf = ({ headers }: ApiError): number => Number(headers["retry-after"] ?? 1);

/** Validates what a form sent, where an empty field means nothing; throws `invalid_request`. */
function parseQuery(query: SharedPageQuery): SharedQuery {
  const given = Object.entries(query).filter(([, text]) => text !== "");
  const { data, error } = sharedQuery.safeParse(Object.fromEntries(given));
  if (data !== undefined) return data;
  const [issue] = error.issues;
  throw invalidField(String(issue?.path[0] ?? ""), issue?.message ?? "is not valid");
}

/**
 * Valid for this page only. With https it also works in a frame on another site, but only on the
 * site where it was set.
 */
function writeCookie(
  token: string,
  { access, expires }: { access: string; expires: number },
  secure: boolean,
): string {
  const maxAge = expires - Math.floor(Date.now() / 1_000);
  const sites = secure ? "SameSite=None; Secure; Partitioned" : "SameSite=Lax";
  return `${COOKIE}=${access}; Path=/shared/${token}; Max-Age=${maxAge}; HttpOnly; ${sites}`;
}
