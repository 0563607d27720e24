/** Responses of fixed paths, which are the same on every host. */
import { EMPTY_BODY, type PageResponse } from "../http/response.ts";

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
