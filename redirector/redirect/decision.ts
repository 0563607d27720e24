/**
 * Decides the response to a request for a short link, in one pure function, so that every code path
 * decides alike. It never waits: for a link that is not cached, the decision is `miss`.
 */
import type { LinkFailure } from "../../shared/contracts/analytics.ts";
import type { ClickLimit } from "../../shared/contracts/click-limits.ts";
import { DEFAULT_DOMAIN } from "../../shared/contracts/link-record.ts";
import type { Preview, RedirectSettings } from "../../shared/contracts/redirect-settings.ts";
import type { CachedLink } from "../../shared/links-store/record.ts";
import { isPreviewAgent } from "../../shared/visitors/automation.ts";
import { ABOUT, type AliasPath, isGlued, readAliases } from "./beyond-alias.ts";
import { isForwardable } from "./forwarding.ts";

/** Why a request fails, for statistics. */
export type Failure = { reason: "unknown_alias" } | { reason: LinkFailure; link: CachedLink };

export type Decision =
  /** Redirect; a HEAD is no click. */
  | { kind: "redirect"; link: CachedLink }
  /** Request the link's password, or check it. */
  | { kind: "password"; link: CachedLink }
  /** Respond with the link's card; no click. */
  | { kind: "preview"; link: CachedLink; preview: Preview }
  /** Respond with the page about the link; no click. */
  | { kind: "about"; link: CachedLink }
  /** As `redirect`, if the limit leaves a click and the visitor has confirmed, if required. */
  | { kind: "guarded"; link: CachedLink; settings: RedirectSettings }
  /** Redirect to the link's own URL for an expired or exhausted link; no click. */
  | { kind: "expired_url"; url: string; failure: Failure }
  | { kind: "expired"; failure: Failure }
  | { kind: "limit_reached"; failure: Failure }
  | { kind: "taken_down" }
  /** Without a failure if the request was not for a link. */
  | { kind: "not_found"; failure?: Failure }
  /** The path is malformed. */
  | { kind: "bad_request" }
  /** `/`, `/robots.txt`, `/favicon.ico`. */
  | { kind: "root" }
  | { kind: "robots" }
  | { kind: "favicon" }
  /** `/healthz`, on any host: load balancers request it by address. */
  | { kind: "healthy" }
  | { kind: "method_not_allowed"; allow: string }
  /**
   * No link is cached at the path. A link must be looked up at each of its aliases in turn, and the
   * request decided by {@link decideAt}.
   */
  | { kind: "miss"; domain: string; names: readonly AliasPath[] };

export type Miss = Extract<Decision, { kind: "miss" }>;

/** A decision that needs no lookup. */
export type FinalDecision = Exclude<Decision, Miss>;

/** A request, and what the decision about it may ask for. */
export interface ShortRequest {
  readonly method: string;
  /** Normalized path without query, e.g. `/abc`; undefined when malformed. */
  readonly path: string | undefined;
  /** The domain that the Host header resolves to; undefined for a host that is not served here. */
  readonly domain: string | undefined;
  /** The header `User-Agent`, cut to the length that a click stores. */
  readonly userAgent: string;
  /** The time, in Unix milliseconds, which decides whether the link has expired. */
  readonly now: number;
  /** Called only for a link that has settings. */
  settingsOf(link: CachedLink): { settings: RedirectSettings } | undefined;
  /** Whether a limit is known to be reached; called only for a link with one. */
  isExhausted(limit: ClickLimit): boolean;
}

/** There is no link at the alias. */
export const UNKNOWN_ALIAS = {
  kind: "not_found",
  failure: { reason: "unknown_alias" },
} as const satisfies Decision;

/** Reserved: never an alias (`shared/contracts/alias.ts`). */
const HEALTH_PATH = "/healthz";

const READ_METHODS = "GET, HEAD";

/**
 * Decides a request, given the cached link at its path: `taken_down` for one that takedowns cover,
 * undefined when there is none, or when the path may mean another one.
 */
export function decide(
  request: ShortRequest,
  link: CachedLink | "taken_down" | undefined,
): Decision {
  const { method, domain } = request;
  const isRead = method === "GET" || method === "HEAD";
  if (!isRead && method !== "POST") return { kind: "method_not_allowed", allow: READ_METHODS };
  if (domain === undefined || link === undefined)
    return decideWithoutLink(request.path, domain, isRead);
  return link === "taken_down" ? { kind: "taken_down" } : decideLink(request, link, isRead);
}

function decideLink(request: ShortRequest, link: CachedLink, isRead: boolean): FinalDecision {
  const { method, now } = request;
  const settings = link.settings === null ? undefined : request.settingsOf(link)?.settings;
  if (settings !== undefined) {
    const decision = decideByState(settings, link, request, isRead);
    if (decision !== undefined) return decision;
    const { preview } = settings;
    // Ignores everything that a person could send along with the link, such as a parameter.
    const hasPreview = preview !== undefined && method === "GET" && link.password_hash === null;
    if (hasPreview && !isExpired(link, now) && isPreviewAgent(request.userAgent))
      return { kind: "preview", link, preview };
  }
  if (isExpired(link, now)) return { kind: "expired", failure: { reason: "expired", link } };
  if (link.password_hash !== null) return { kind: "password", link };
  if (isGuarded(settings)) return { kind: "guarded", link, settings };
  // Only password and confirmation forms are posted.
  if (!isRead) return { kind: "method_not_allowed", allow: READ_METHODS };
  return { kind: "redirect", link };
}

const isExpired = ({ expires_at }: CachedLink, now: number): boolean =>
  expires_at !== null && expires_at <= now;

/** Whether a limit or a confirmation stands between visitors and the destination. */
export const isGuarded = (settings: RedirectSettings | undefined): settings is RedirectSettings =>
  settings?.limit !== undefined || settings?.confirm === true;

/** Decisions after which a request may reach the destination. */
const REDIRECTING: ReadonlySet<Decision["kind"]> = new Set(["redirect", "password", "guarded"]);

/**
 * Decides a request that was a miss, given the cached link at one of its aliases, which is followed
 * by `suffix`. If the path continues after the alias, a link that does not forward its path is not
 * found, but for what is glued to its short URL.
 */
export function decideAt(
  request: ShortRequest,
  suffix: string,
  link: CachedLink | "taken_down",
): FinalDecision {
  if (link === "taken_down") return { kind: "taken_down" };
  const isRead = request.method !== "POST";
  if (suffix === "") return decideLink(request, link, isRead);
  const settings = request.settingsOf(link)?.settings;
  if (suffix === ABOUT) return toAbout(decideLink(request, link, isRead), link, settings);
  const forwards = settings?.forward_path;
  if (forwards === undefined && !isGlued(suffix)) return { kind: "not_found" };
  const decision = decideLink(request, link, isRead);
  return REDIRECTING.has(decision.kind) && forwards === "append" && !isForwardable(suffix)
    ? { kind: "bad_request" }
    : decision;
}

/**
 * A link's about page exists where the link leads somebody to its destination, unless its password,
 * confirmation or limit protects that. Which decision a request gets does not show the protection:
 * programs get a card.
 */
function toAbout(
  decision: FinalDecision,
  link: CachedLink,
  settings: RedirectSettings | undefined,
): FinalDecision {
  if (!REDIRECTING.has(decision.kind) && decision.kind !== "preview") return decision;
  return link.password_hash !== null || isGuarded(settings)
    ? { kind: "not_found" }
    : { kind: "about", link };
}

/** Decides for a link that is not active; undefined when it redirects, also to its expired URL. */
function decideByState(
  { taken_down, disabled, starts_at, expired_url, limit }: RedirectSettings,
  link: CachedLink,
  request: ShortRequest,
  isRead: boolean,
): FinalDecision | undefined {
  const { now } = request;
  if (taken_down === true) return { kind: "taken_down" };
  // The response equals that of an unknown alias, so it reveals nothing.
  if (disabled === true) return { kind: "not_found", failure: { reason: "disabled", link } };
  if (starts_at !== undefined && now < starts_at)
    return { kind: "not_found", failure: { reason: "not_started", link } };
  const kind = isExpired(link, now)
    ? "expired"
    : limit !== undefined && request.isExhausted(limit)
      ? "limit_reached"
      : undefined;
  if (kind === undefined) return undefined;
  const failure: Failure = { reason: kind, link };
  return expired_url !== undefined && isRead
    ? { kind: "expired_url", url: expired_url, failure }
    : { kind, failure };
}

/** Decides without a cached link. The paths of built-in pages are never aliases. */
function decideWithoutLink(
  path: string | undefined,
  domain: string | undefined,
  isRead: boolean,
): Decision {
  if (path === undefined) return { kind: "bad_request" };
  const page = builtInPage(path);
  // Load balancers may send requests by address.
  if (domain === undefined) return { kind: isRead && page === "healthy" ? page : "not_found" };
  if (page === undefined) {
    const names = readAliases(path);
    return names.length === 0 ? { kind: "not_found" } : { kind: "miss", domain, names };
  }
  // The root page is configured for the default domain only; a custom domain may not even be served
  // here.
  if (page === "root" && domain !== DEFAULT_DOMAIN) return { kind: "not_found" };
  return isRead ? { kind: page } : { kind: "method_not_allowed", allow: READ_METHODS };
}

function builtInPage(path: string): "root" | "robots" | "favicon" | "healthy" | undefined {
  if (path === "/") return "root";
  if (path === "/robots.txt") return "robots";
  if (path === HEALTH_PATH) return "healthy";
  return path === "/favicon.ico" ? "favicon" : undefined;
}
