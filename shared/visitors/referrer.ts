/** Parses the Referer header. */
import { getDomain } from "tldts";

import { normalizeHost } from "../hosts.ts";

export type Referrer = {
  /** The host of a web page, to recognise our own; "" for none. */
  host: string;
  /** Registrable domain in lower case without `www.`, an app's name, or `direct`. */
  source: string;
  path: string;
};

export const DIRECT: Referrer = { host: "", source: "direct", path: "" };

const PATH_LENGTH_MAX = 512;

/**
 * A host name has 253 characters in ASCII (RFC 1035 §2.3.4), a trailing dot and a port seven more.
 */
const AUTHORITY_LENGTH_MAX = 260;

/**
 * Maximum characters of it that are not ASCII: browsers send hosts in ASCII, other programs may
 * not. The parser's time grows with their square: 330 take half a millisecond, and each click can
 * have other ones.
 */
const OTHER_SCRIPT_LENGTH_MAX = 63;

/** Platforms that give a subdomain to each site, but are not in the list of public suffixes. */
const PLATFORMS: ReadonlySet<string> = new Set([
  "bandcamp.com",
  "beehiiv.com",
  "canalblog.com",
  "fandom.com",
  "fc2.com",
  "ghost.io",
  "gumroad.com",
  "hashnode.dev",
  "itch.io",
  "jimdofree.com",
  "jimdosite.com",
  "livejournal.com",
  "medium.com",
  "mystrikingly.com",
  "neocities.org",
  "over-blog.com",
  "squarespace.com",
  "substack.com",
  "tistory.com",
  "tumblr.com",
  "typepad.com",
  "weebly.com",
  "wordpress.com",
]);

/** The characters that the URL parser removes first. */
const REMOVED = /[\t\r\n]/g;

/**
 * An absolute URL up to the end of its authority, as the URL parser reads it: any number of slashes
 * may precede it.
 */
const BEGINNING = /^ *[a-z][a-z0-9+.-]*:[/\\]*(?<authority>[^/\\?#]*)/i;

/** Parses a Referer header. A host that is too long for a host name counts as none. */
export function parseReferrer(header: string): Referrer {
  const url = readUrl(header);
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
    source: siteOf(host),
    path: url.pathname === "/" ? "" : url.pathname.slice(0, PATH_LENGTH_MAX),
  };
}

/** Schemes of URLs that name a page or an app. */
const NAMING: ReadonlySet<string> = new Set(["http:", "https:", "android-app:"]);

/**
 * The part of a Referer header that {@link parseReferrer} reads, as a header of bounded length; ""
 * for one that names no page or app.
 */
export function shortenReferrer(header: string): string {
  const url = readUrl(header);
  if (url === null || !NAMING.has(url.protocol) || url.hostname === "") return "";
  return `${url.protocol}//${url.host}${url.pathname.slice(0, PATH_LENGTH_MAX)}`;
}

function readUrl(header: string): URL | null {
  const text = header.replace(REMOVED, "");
  const authority = BEGINNING.exec(text)?.groups?.["authority"];
  return authority === undefined || isTooLong(authority) ? null : URL.parse(text);
}

/**
 * The site of a host: its registrable domain, or its name on a platform, as `name.github.io` and
 * `name.substack.com` are sites of their own.
 */
export function siteOf(host: string): string {
  const domain = getDomain(host, { allowPrivateDomains: true }) ?? host;
  const site = PLATFORMS.has(domain)
    ? host.slice(host.lastIndexOf(".", host.length - domain.length - 2) + 1)
    : domain;
  return site.replace(/^www\./, "");
}

function isTooLong(authority: string): boolean {
  if (authority.length > AUTHORITY_LENGTH_MAX) return true;
  let others = 0;
  for (let i = 0; i < authority.length; i++) if (authority.charCodeAt(i) > 0x7f) others++;
  return others > OTHER_SCRIPT_LENGTH_MAX;
}

/**
 * The source of a click on a short link of `host`: the referrer's, or `direct` if that is one of
 * our hosts.
 */
export function sourceOf(header: string, host: string, ownHosts: ReadonlySet<string>): string {
  const referrer = parseReferrer(header);
  return isOwnHost(referrer.host, host, ownHosts) ? DIRECT.source : referrer.source;
}

/** Whether the host of a referrer is that of the short link, or another one of ours. */
export const isOwnHost = (referrer: string, host: string, ownHosts: ReadonlySet<string>): boolean =>
  referrer !== "" && (referrer === host || ownHosts.has(referrer));
