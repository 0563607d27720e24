/** Serves the APIs of other products beside `/v1`, on its listener: see docs/compatible-apis.md. */
import type { Authenticator } from "../auth/access-rules.ts";
import type { CompatName } from "../config.ts";
import { bitly } from "./bitly.ts";
import { shlink } from "./shlink.ts";
import { type CompatibleApi, type Handle, V1 } from "./v1.ts";
import { yourls } from "./yourls.ts";

const APIS: Readonly<Record<CompatName, CompatibleApi>> = { yourls, bitly, shlink };

export class CompatibleApis {
  readonly #apis: readonly CompatibleApi[];
  readonly #shortUrl: string;
  readonly #authenticator: Authenticator;

  /** `shortUrl` is the origin of short links, and `authenticator` that of `/v1`. */
  constructor(names: readonly CompatName[], shortUrl: string, authenticator: Authenticator) {
    this.#apis = names.map((name) => APIS[name]);
    this.#shortUrl = shortUrl;
    this.#authenticator = authenticator;
  }

  /** Answers the requests of these APIs, and leaves all others to `handle`. */
  readonly wrap = (handle: Handle) => {
    if (this.#apis.length === 0) return handle;
    return (request: Request): unknown => {
      const url = isOfV1(request.url) ? null : URL.parse(request.url);
      const api = url === null ? undefined : this.#apis.find((known) => known.serves(url.pathname));
      if (url === null || api === undefined) return handle(request);
      const site = { url, shortUrl: this.#shortUrl, authenticator: this.#authenticator };
      const v1 = new V1(request, site, handle);
      return request.method === "OPTIONS" ? v1.preflight() : answer(api, v1);
    };
  };
}

const answer = async (api: CompatibleApi, v1: V1): Promise<Response> =>
  v1.respond(await api.answer(v1));

/** Tells most requests apart without parsing their URL. */
const isOfV1 = (url: string): boolean =>
  url.startsWith("/v1/", url.indexOf("/", "https://".length));
