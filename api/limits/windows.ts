/**
 * The windows of `shared/budgets.ts`, in this process's memory. Those of networks protect the
 * service against guessing and noise. A valid key is never rejected because of other traffic from
 * its network, which can be a whole company, or all clients of a proxy that is not trusted.
 */
import { addressGroups } from "../../shared/address-group.ts";
import { type WindowName, WINDOWS } from "../../shared/budgets.ts";
import { createFixedWindow, type FixedWindow } from "../../shared/fixed-window.ts";
import {
  type LimitWindow,
  mostConstrained,
  rateLimited,
  rateLimitHeaders,
} from "../http/rate-limit.ts";

/** Keys remembered; beyond, the one seen least recently starts a new window. */
const KEYS_MAX = 50_000;

/** The limit of an IPv6 site (a /48), which holds many networks, as a multiple of one network's. */
const SITE_FACTOR = 10;

type Headers = Record<string, string | number>;

type Bounds = { limit: number; seconds: number };

/** A window by key. */
export class KeyWindow {
  readonly #described: { name: string; limit: number; seconds: number };
  readonly #window: FixedWindow;

  constructor(name: WindowName, { limit, seconds }: Bounds = WINDOWS[name]) {
    this.#described = { name: WINDOWS[name].header, limit, seconds };
    this.#window = createFixedWindow({ limit, seconds, keysMax: KEYS_MAX });
  }

  /** Whether the key has no request left. */
  exhausted(key: string): boolean {
    return this.#window.exhausted(key);
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
  enforce(key: string, headers: Headers): void {
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
  exhausted(address: string): boolean {
    return this.#find(address).some(({ window, key }) => window.exhausted(key));
  }

  /**
   * Consumes one request if one is left; returns the most constrained window, and whether it was
   * granted.
   */
  consume(address: string): { window: LimitWindow; granted: boolean } {
    const found = this.#find(address);
    const used = found.find(({ window, key }) => window.exhausted(key));
    if (used !== undefined) return { window: used.window.state(used.key), granted: false };
    const windows = found.map(({ window, key }) => window.consume(key).window);
    return { window: requireMostConstrained(windows), granted: true };
  }

  /** Describes the current window in the headers; consumes nothing. */
  describe(address: string, headers: Headers): void {
    const windows = this.#find(address).map(({ window, key }) => window.state(key));
    Object.assign(headers, rateLimitHeaders(requireMostConstrained(windows)));
  }

  /** As {@link KeyWindow.enforce}. */
  enforce(address: string, headers: Headers): void {
    const { window, granted } = this.consume(address);
    Object.assign(headers, rateLimitHeaders(window));
    if (!granted) throw rateLimited(window, Date.now());
  }

  /** The windows that apply to an address, each with its key; an IPv4 address is its own site. */
  #find(address: string): { window: KeyWindow; key: string }[] {
    const { network, site } = addressGroups(address);
    const own = { window: this.#networks, key: network };
    return site === network ? [own] : [own, { window: this.#sites, key: site }];
  }
}

function requireMostConstrained(windows: readonly LimitWindow[]): LimitWindow {
  const window = mostConstrained(windows);
  if (window === undefined) throw new Error("An address has no window.");
  return window;
}
