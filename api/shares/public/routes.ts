/**
 * Routes of shared statistics, which need no account: `/v1/shared/:token` for programs,
 * `/shared/:token` for people.
 */
import { Elysia } from "elysia";

import { acceptsGzip } from "../../http/compression.ts";
import { readBody } from "../../http/json-body.ts";
import { addVary } from "../../http/vary.ts";
import type { AccessPlugin } from "../../site.ts";
import {
  accessBody,
  accessResponse,
  sharedPageQuery,
  sharedParams,
  sharedQuery,
  sharedResponse,
} from "../model.ts";
import type { SharedService } from "../reading.ts";
import { pageLanguageOf } from "./page-language.ts";
import { createSharedPages, type Page, type Visit } from "./pages.ts";

type SharedRoutesDeps = {
  auth: AccessPlugin;
  shared: SharedService;
  /** Whether the site is reached by https. */
  secure: boolean;
};

/**
 * Bytes of a posted form: a password of 128 characters, each of 12 bytes when it is
 * percent-encoded.
 */
const FORM_BYTES_MAX = 2_048;

const UNREAD_BODY = Object.freeze({});

export const sharedRoutes = ({ auth, shared, secure }: SharedRoutesDeps) => {
  const pages = createSharedPages(shared, secure);
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
        jsonBody: "required",
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
        return send(await pages.show(visit, cookies, query), request, set);
      },
      { access: "public", params: sharedParams, query: sharedPageQuery, detail: { hide: true } },
    )
    .post(
      "/shared/:token",
      async ({ call, params, request, set }) => {
        const bytes = await readBody(request, FORM_BYTES_MAX);
        const password = new URLSearchParams(new TextDecoder().decode(bytes)).get("password");
        const visit = visitOf(params, request);
        const page = await pages.unlock(visit, password ?? "", call?.address ?? "");
        return send(page, request, set);
      },
      {
        access: "public",
        // The framework would read a body of any size.
        parse: () => UNREAD_BODY,
        params: sharedParams,
        detail: { hide: true },
      },
    );
};

const visitOf = ({ token }: { token: string }, { headers }: Request): Visit => ({
  token,
  language: pageLanguageOf(headers.get("accept-language") ?? ""),
});

type ResponseSettings = { status?: number | string; headers: Record<string, string | number> };

/** Sends a page with its own headers instead of the site's. */
function send({ status, headers, body }: Page, request: Request, set: ResponseSettings): Response {
  // The page's policy decides who may frame it.
  delete set.headers["x-frame-options"];
  Object.assign(set.headers, headers);
  addVary(set.headers, "Accept-Language");
  set.status = status;
  if (typeof body === "string") return new Response(body, { status });
  addVary(set.headers, "Accept-Encoding");
  if (!acceptsGzip(request.headers.get("accept-encoding") ?? "")) {
    return new Response(Bun.gunzipSync(body.gzip), { status });
  }
  set.headers["content-encoding"] = "gzip";
  return new Response(body.gzip, { status });
}
