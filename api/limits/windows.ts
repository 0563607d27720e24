/**
 * Windows of rate limits: the headers that describe one, the 429 beyond it, and those that a
 * process counts in its own memory (`shared/budgets.ts`). A window opens with the first request
 * after the previous window closed, and closes a fixed time later.
 *
 * Windows of networks protect the service against guessing and noise. A valid key is never refused
 * because of other traffic from its network, which can be a whole company, or all clients of a
 * proxy that is not trusted.
 */
import { addressGroups } from "../../shared/addresses.ts";
import { type Bounds, NETWORK_FILES, type WindowName, WINDOWS } from "../../shared/budgets.ts";
import { Credit, FixedWindow } from "../../shared/local-limits.ts";
import { ApiError } from "../http/errors.ts";
import type { ResponseHeaders } from "../http/request-context.ts";

export type LimitWindow = {
  /** `minute`, `day`, `burst`, an endpoint such as `POST /v1/links`, or `address`. */
  name: string;
  /** Maximum requests that the window grants. */
  limit: number;
  /** The window's length. */
  seconds: number;
  spent: number;
  /** When the window closes, in Unix milliseconds. */
  resetsAt: number;
};

/** How many more requests the window grants. */
export const remaining = (window: LimitWindow): number => Math.max(0, window.limit - window.spent);

/** The window with the lowest share left; of equal windows, the one that closes last. */
export function findMostConstrained(windows: readonly LimitWindow[]): LimitWindow | undefined {
  return windows.reduce<LimitWindow | undefined>((chosen, window) => {
    if (chosen === undefined) return window;
    const difference = remaining(window) / window.limit - remaining(chosen) / chosen.limit;
    if (difference < 0) return window;
    return difference === 0 && window.resetsAt > chosen.resetsAt ? window : chosen;
  }, undefined);
}

/** Of the exhausted windows, the one that closes last. */
export function findExhausted(windows: readonly LimitWindow[]): LimitWindow | undefined {
  return windows
    .filter((window) => remaining(window) === 0)
    .toSorted((a, b) => b.resetsAt - a.resetsAt)[0];
}

type RateLimitHeaders = Record<
  | "x-ratelimit-limit"
  | "x-ratelimit-remaining"
  | "x-ratelimit-reset"
  | "x-ratelimit-policy"
  | "ratelimit"
  | "ratelimit-policy",
  string
>;

/**
 * The headers that describe `window`: our own, and the pair of the IETF's draft
 * (draft-ietf-httpapi-ratelimit-headers-10), whose reset is in seconds from `now` (Unix
 * milliseconds). Resets are rounded up, so that no client retries too early.
 */
export const rateLimitHeaders = (window: LimitWindow, now = Date.now()): RateLimitHeaders => ({
  "x-ratelimit-limit": String(window.limit),
  "x-ratelimit-remaining": String(remaining(window)),
  "x-ratelimit-reset": String(Math.ceil(window.resetsAt / 1_000)),
  "x-ratelimit-policy": `${window.limit};w=${window.seconds}`,
  ratelimit: `"${window.name}";r=${remaining(window)};t=${Math.max(0, Math.ceil((window.resetsAt - now) / 1_000))}`,
  "ratelimit-policy": `"${window.name}";q=${window.limit};w=${window.seconds}`,
});

/** Whole seconds, at least one, from `now` to `instant` (both in Unix milliseconds). */
export const secondsUntil = (instant: number, now: number): number =>
  Math.max(1, Math.ceil((instant - now) / 1_000));

/** `1 second`, `2 seconds`. */
export const inSeconds = (count: number): string => `${count} second${count === 1 ? "" : "s"}`;

/** The 429 of a window that has no request left. */
export function rateLimited(window: LimitWindow, now: number): ApiError {
  const wait = secondsUntil(window.resetsAt, now);
  const limit = `${window.limit} requests in ${inSeconds(window.seconds)}`;
  return new ApiError(
    "rate_limited",
    `Rate limit exceeded: ${limit}. Try again in ${inSeconds(wait)}.`,
    { retryAfterSeconds: wait },
  );
}

/** Keys remembered; beyond, the one seen least recently starts a new window. */
const KEYS_MAX = 50_000;

/** The limit of an IPv6 site (a /48), which holds many networks, as a multiple of one network's. */
const SITE_FACTOR = 10;

/** A window by key, in this process's memory. */
export class KeyWindow {
  readonly #described: { name: string; limit: number; seconds: number };
  readonly #window: FixedWindow;

  constructor(
    name: WindowName,
    { limit, seconds }: { limit: number; seconds: number } = WINDOWS[name],
  ) {
    this.#described = { name: WINDOWS[name].header, limit, seconds };
    this.#window = new FixedWindow({ limit, seconds, keysMax: KEYS_MAX });
  }

  /** Whether the key has no request left. */
  isExhausted(key: string): boolean {
    return this.#window.isExhausted(key);
  }

  /** The key's current window; consumes nothing. */
  state(key: string): LimitWindow {
    return { ...this.#described, ...this.#window.state(key) };
  }

  /** Consumes one request if one is left; returns the window, and whether it was granted. */
  consume(key: string): { window: LimitWindow; granted: boolean } {
    const { granted, ...state } = this.#window.consume(key);
    return { window: { ...this.#described, ...state }, granted };
  }

  /** Consumes one request and sets the headers; throws `rate_limited` when none is left. */
  enforce(key: string, headers: ResponseHeaders): void {
    const { window, granted } = this.consume(key);
    Object.assign(headers, rateLimitHeaders(window));
    if (!granted) throw rateLimited(window, Date.now());
  }
}

/** A window by the network and the site that an address belongs to. */
export class NetworkWindow {
  readonly #networks: KeyWindow;
  readonly #sites: KeyWindow;

  constructor(name: WindowName) {
    this.#networks = new KeyWindow(name);
    const { limit, seconds } = WINDOWS[name];
    this.#sites = new KeyWindow(name, { limit: limit * SITE_FACTOR, seconds });
  }

  /** Whether the address has no request left. */
  isExhausted(address: string): boolean {
    return this.#find(address).some(({ of, key }) => of.isExhausted(key));
  }

  /**
   * Consumes one request if one is left; returns the most constrained window, and whether it was
   * granted.
   */
  consume(address: string): { window: LimitWindow; granted: boolean } {
    const found = this.#find(address);
    const spent = found.find(({ of, key }) => of.isExhausted(key));
    if (spent !== undefined) return { window: spent.of.state(spent.key), granted: false };
    const windows = found.map(({ of, key }) => of.consume(key).window);
    return { window: requireMostConstrained(windows), granted: true };
  }

  /** Describes the current window in the headers; consumes nothing. */
  describe(address: string, headers: ResponseHeaders): void {
    const windows = this.#find(address).map(({ of, key }) => of.state(key));
    Object.assign(headers, rateLimitHeaders(requireMostConstrained(windows)));
  }

  /** As {@link KeyWindow.enforce}. */
  enforce(address: string, headers: ResponseHeaders): void {
    const { window, granted } = this.consume(address);
    Object.assign(headers, rateLimitHeaders(window));
    if (!granted) throw rateLimited(window, Date.now());
  }

  #find(address: string): { of: KeyWindow; key: string }[] {
    return countedBy(address, this.#networks, this.#sites);
  }
}

/** The cost of a response beside its bytes, of which it may have none. */
const RESPONSE_KIB = 2;

const SITE_FILES: Bounds = {
  atOnce: SITE_FACTOR * NETWORK_FILES.atOnce,
  perSecond: SITE_FACTOR * NETWORK_FILES.perSecond,
};

/**
 * The bytes of files that one network may fetch without a key or a session: of the dashboard and of
 * the reference. They are served from memory, so all that they cost is sending them; time refills
 * them evenly, so that somebody who opens many pages waits only for the next one.
 */
export class FileBudget {
  readonly #networks: Credit;
  readonly #sites: Credit;

  constructor(now?: () => number) {
    this.#networks = new Credit(KEYS_MAX, now);
    this.#sites = new Credit(KEYS_MAX, now);
  }

  /** Charges a response of so many bytes; throws `rate_limited` when the network has none left. */
  charge(address: string, bytes: number): void {
    const found = countedBy(address, this.#networks, this.#sites);
    const boundsOf = (of: Credit): Bounds => (of === this.#networks ? NETWORK_FILES : SITE_FILES);
    const waitMs = Math.max(...found.map(({ of, key }) => of.waitMs(key, boundsOf(of))));
    if (waitMs > 0) {
      const wait = Math.ceil(waitMs / 1_000);
      throw new ApiError(
        "rate_limited",
        `Too many files were fetched from your network. Try again in ${inSeconds(wait)}.`,
        { retryAfterSeconds: wait },
      );
    }
    for (const { of, key } of found) of.spend(key, RESPONSE_KIB + bytes / 1024, boundsOf(of));
  }
}

/** Where an address counts, each with its key there; an IPv4 address is its own site. */
function countedBy<Of>(address: string, networks: Of, sites: Of): { of: Of; key: string }[] {
  const { network, site } = addressGroups(address);
  const own = { of: networks, key: network };
  return site === network ? [own] : [own, { of: sites, key: site }];
}

function requireMostConstrained(windows: readonly LimitWindow[]): LimitWindow {
  const window = findMostConstrained(windows);
  if (window === undefined) throw new Error("An address has no window.");
  return window;
}
