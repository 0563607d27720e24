/**
 * Routes of shared statistics, which need no account: `/v1/shared/:token` for programs,
 * `/shared/:token` for people.
 */
import { Elysia } from "elysia";

import { leaveUnread, readBody } from "../../http/json-body.ts";
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
import { pageLanguageOf, sendPage } from "./document.ts";
import { SharedPages, type Visit } from "./pages.ts";

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
        return sendPage(await pages.show(visit, cookies, query), request, set);
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
        return sendPage(page, request, set);
      },
      {
        access: "public",
        parse: leaveUnread,
        params: sharedParams,
        detail: { hide: true },
      },
    );
};

const visitOf = ({ token }: { token: string }, { headers }: Request): Visit => ({
  token,
  language: pageLanguageOf(headers.get("accept-language") ?? ""),
});
