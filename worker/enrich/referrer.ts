/** Parses the Referer header. */
import { getDomain } from "tldts";

import { normalizeHost } from "../../shared/hosts.ts";

export type Referrer = {
  /** Registrable domain in lower case, or `direct`. */
  source: string;
  /** Path on the source; "" for none. */
  path: string;
};

export const DIRECT: Referrer = { source: "direct", path: "" };

const PATH_LENGTH_MAX = 512;

/** Parses a Referer header. `isOwn` returns whether a host serves short links; those count as direct. */
export function parseReferrer(header: string, isOwn: (host: string) => boolean): Referrer {
  if (!URL.canParse(header)) return DIRECT;
  const url = new URL(header);
  // Android's browsers send the app's name: android-app://com.example.app/
  if (url.protocol === "android-app:") {
    return url.hostname === "" ? DIRECT : { source: url.hostname.toLowerCase(), path: "" };
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return DIRECT;
  const host = normalizeHost(url.host);
  if (isOwn(host)) return DIRECT;
  return {
    source: getDomain(host) ?? host.replace(/^www\./, ""),
    path: url.pathname === "/" ? "" : url.pathname.slice(0, PATH_LENGTH_MAX),
  };
}
