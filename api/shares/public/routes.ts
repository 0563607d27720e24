/**
 * Routes of shared statistics, which need no account: `/v1/shared/:token` for programs,
 * `/shared/:token` for people.
 */
import { Elysia } from "elysia";

import { ApiError, invalidField } from "../../http/errors.ts";
import { readBody } from "../../http/json-body.ts";
import type { AccessPlugin } from "../../site.ts";
import {
  accessBody,
  accessResponse,
  type SharedPageQuery,
  sharedPageQuery,
  sharedParams,
  type SharedQuery,
  sharedQuery,
  sharedResponse,
} from "../model.ts";
import type { SharedService } from "../reading.ts";
import {
  type Page,
  pageHeaders,
  type PageLanguage,
  pageLanguageOf,
  renderMessage,
  renderPasswordForm,
  sendPage,
} from "./document.ts";

/**
 * Bytes of a posted form: a password of 128 characters, each of 12 bytes when it is
 * percent-encoded.
 */
const FORM_BYTES_MAX = 2_048;

/** `secure` means that the site is reached by https. */
export const sharedRoutes = (auth: AccessPlugin, shared: SharedService, secure: boolean) => {
  const pages = new SharedPages(shared, secure);
  return new Elysia({ name: "shared", tags: ["Shares"] })
    .use(auth)
    .get(
      "/v1/shared/:token",
      async ({ params, query, request, set }) => {
        set.headers["x-robots-tag"] = "noindex, nofollow";
        const access = request.headers.get("x-share-access") ?? undefined;
        return (await shared.read(params.token, access, query)).statistics;
      },
      {
        access: "public",
        errors: ["unauthorized"],
        params: sharedParams,
        query: sharedQuery,
        response: { 200: sharedResponse },
        detail: {
          operationId: "getSharedStatistics",
          summary: "Read shared statistics",
          description:
            "Needs no key. The counts are at most a minute old. Dates are whole days; with them `period` does not count. Other ranges and time zones than those of the share's own periods are limited: `rate_limited` says when another one can be read. With a password, send the access token of `unlockSharedStatistics` in `X-Share-Access`.",
        },
      },
    )
    .post(
      "/v1/shared/:token/access",
      async ({ call, params, body }) => {
        const { access, expires } = await shared.unlock(
          params.token,
          body.password,
          call?.address ?? "",
        );
        return { access_token: access, expires_at: new Date(expires * 1_000).toISOString() };
      },
      {
        access: "public",
        errors: ["forbidden"],
        params: sharedParams,
        body: accessBody,
        response: { 200: accessResponse },
        detail: {
          operationId: "unlockSharedStatistics",
          summary: "Exchange the password of shared statistics for access",
          description:
            "Needs no key. The access token is valid for an hour, or until the password changes.",
        },
      },
    )
    .get(
      "/shared/:token",
      async ({ params, query, request, set }) => {
        const visit = visitOf(params, request);
        const cookies = request.headers.get("cookie") ?? "";
        return sendPage(await pages.show(visit, cookies, query), request, set);
      },
      { access: "page", params: sharedParams, query: sharedPageQuery, detail: { hide: true } },
    )
    .post(
      "/shared/:token",
      async ({ call, params, request, set }) => {
        const bytes = await readBody(request, FORM_BYTES_MAX);
        const password = new URLSearchParams(new TextDecoder().decode(bytes)).get("password");
        const visit = visitOf(params, request);
        const page = await pages.unlock(visit, password ?? "", call?.address ?? "");
        return sendPage(page, request, set);
      },
      { access: "page", params: sharedParams, detail: { hide: true } },
    );
};

const visitOf = ({ token }: { token: string }, { headers }: Request): Visit => ({
  token,
  language: pageLanguageOf(headers.get("accept-language") ?? ""),
});

/** A visit of a share's page, in the language of its reader. */
type Visit = { token: string; language: PageLanguage };

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
