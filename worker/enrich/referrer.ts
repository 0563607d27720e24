/** Where a person came from. */
import { getDomain } from "tldts";

import { hostName } from "../../shared/hosts.ts";

export type Referrer = {
  /** Registrable host in lower case, or `direct`. */
  source: string;
  /** Path at the source; empty for none. */
  path: string;
};

export const DIRECT: Referrer = { source: "direct", path: "" };

const PATH_LENGTH_MAX = 512;

/** Reads a Referer header. `isOwn` tells the hosts of short links, which are no source. */
export function parseReferrer(header: string, isOwn: (host: string) => boolean): Referrer {
  if (!URL.canParse(header)) return DIRECT;
  const url = new URL(header);
  // Android's browsers name the app: android-app://com.example.app/
  if (url.protocol === "android-app:") {
    return url.hostname === "" ? DIRECT : { source: url.hostname.toLowerCase(), path: "" };
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return DIRECT;
  const host = hostName(url.host);
  if (isOwn(host)) return DIRECT;
  return {
    source: getDomain(host) ?? host.replace(/^www\./, ""),
    path: url.pathname === "/" ? "" : url.pathname.slice(0, PATH_LENGTH_MAX),
  };
}
