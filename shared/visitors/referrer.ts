/** Parses the Referer header. */
import { getDomain } from "tldts";

import { normalizeHost } from "../hosts.ts";

export type Referrer = {
  /** The host of a web page, to recognise own ones; "" for none. */
  host: string;
  /** Registrable domain in lower case, or `direct`. */
  source: string;
  /** Path on the source; "" for none. */
  path: string;
};

export const DIRECT: Referrer = { host: "", source: "direct", path: "" };

const PATH_LENGTH_MAX = 512;

/** Parses a Referer header. */
export function parseReferrer(header: string): Referrer {
  const url = header === "" ? null : URL.parse(header);
  if (url === null) return DIRECT;
  // Android's browsers send the app's name: android-app://com.example.app/
  if (url.protocol === "android-app:") {
    return url.hostname === ""
      ? DIRECT
      : { host: "", source: url.hostname.toLowerCase(), path: "" };
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return DIRECT;
  const host = normalizeHost(url.host);
  return {
    host,
    source: getDomain(host) ?? host.replace(/^www\./, ""),
    path: url.pathname === "/" ? "" : url.pathname.slice(0, PATH_LENGTH_MAX),
  };
}

/** Where a click on a short link of `host` came from: the referrer's source, or `direct` if that is one of our hosts. */
export function sourceOf(header: string, host: string, ownHosts: ReadonlySet<string>): string {
  const referrer = parseReferrer(header);
  const isOwn = referrer.host !== "" && (referrer.host === host || ownHosts.has(referrer.host));
  return isOwn ? DIRECT.source : referrer.source;
}
