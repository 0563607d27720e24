/**
 * Rate limits of unauthenticated requests, by the network they come from. They protect the service
 * against guessing and noise. A valid key is never rejected because of other traffic from its
 * network, which can be a whole company, or all clients of a proxy that is not trusted.
 */
import { addressGroups } from "../../shared/address-group.ts";
import {
  type LimitWindow,
  mostConstrained,
  rateLimited,
  rateLimitHeaders,
} from "../http/rate-limit.ts";
import { createLocalLimit } from "./local-limit.ts";

/**
 * Maximum networks remembered; an attacker with more of them is still subject to the limits of
 * whole sites.
 */
const KEYS_MAX = 50_000;

/** The limit of an IPv6 site (a /48), which holds many networks, as a multiple of one network's. */
const SITE_FACTOR = 10;

/** The limit of one network: requests per minute. */
const REQUESTS = { limit: 60, seconds: 60 };

export type AddressLimit = {
  /** Whether the address has no request left. */
  exhausted(address: string): boolean;
  /**
   * Consumes one request if one is left; returns the most constrained window, and whether it was
   * granted.
   */
  consume(address: string): { window: LimitWindow; granted: boolean };
  /** Describes the current window in the headers; consumes nothing. */
  describe(address: string, headers: Record<string, string | number>): void;
  /**
   * Consumes one request and describes the window in the headers; throws `rate_limited` when none
   * is left.
   */
  enforce(address: string, headers: Record<string, string | number>): void;
};

/** Creates a limit on addresses by the network and the site they belong to. */
function createAddressLimit({ limit, seconds }: typeof REQUESTS): AddressLimit {
  const networks = createLocalLimit({ name: "address", limit, seconds, keysMax: KEYS_MAX });
  const sites = createLocalLimit({
    name: "address",
    limit: limit * SITE_FACTOR,
    seconds,
    keysMax: KEYS_MAX,
  });

  /** The limits that apply to an address, each with its key; an IPv4 address is its own site. */
  function findLimits(address: string) {
    const { network, site } = addressGroups(address);
    const own = { limit: networks, key: network };
    return site === network ? [own] : [own, { limit: sites, key: site }];
  }

  function consume(address: string) {
    const limits = findLimits(address);
    const used = limits.find(({ limit, key }) => limit.exhausted(key));
    if (used !== undefined) return { window: used.limit.state(used.key), granted: false };
    const windows = limits.map(({ limit, key }) => limit.consume(key).window);
    return { window: requireMostConstrained(windows), granted: true };
  }

  return {
    exhausted: (address) => findLimits(address).some(({ limit, key }) => limit.exhausted(key)),
    consume,
    describe(address, headers) {
      const windows = findLimits(address).map(({ limit, key }) => limit.state(key));
      Object.assign(headers, rateLimitHeaders(requireMostConstrained(windows)));
    },
    enforce(address, headers) {
      const { window, granted } = consume(address);
      Object.assign(headers, rateLimitHeaders(window));
      if (!granted) throw rateLimited(window, Date.now());
    },
  };
}

function requireMostConstrained(windows: readonly LimitWindow[]): LimitWindow {
  const window = mostConstrained(windows);
  if (window === undefined) throw new Error("An address has no window.");
  return window;
}

/** Failed password attempts per network: some for typing errors, and far too few to guess one. */
const PASSWORD_TRIES = { limit: 20, seconds: 900 };

/**
 * Passwords of one network that are verified, right or wrong: each takes some 60 ms of a core, so
 * together 2 % of one.
 */
const PASSWORD_CHECKS = { limit: 100, seconds: 300 };

/** The limit of failed password attempts on shared statistics. */
export const createPasswordTryLimit = (): AddressLimit => createAddressLimit(PASSWORD_TRIES);

/** The limit of passwords of shared statistics that are verified. */
export const createPasswordCheckLimit = (): AddressLimit => createAddressLimit(PASSWORD_CHECKS);

/** The limit of requests without a valid key. */
export type AnonymousLimit = AddressLimit;
export const createAnonymousLimit = (): AnonymousLimit => createAddressLimit(REQUESTS);

/**
 * The limit of well-formed keys that do not exist, each of which costs a query. When it is
 * exhausted, the network's keys that were not recently verified are rejected without a query.
 */
export type UnknownKeyLimit = AddressLimit;
export const createUnknownKeyLimit = (): UnknownKeyLimit => createAddressLimit(REQUESTS);

/**
 * Requests of one network with keys that no longer work: more than one such key may make, so that a
 * program that was forgotten keeps nobody else out.
 */
const REFUSED = { limit: 1_000, seconds: 60 };

/**
 * The limit of keys that no longer work, each of which has a limit of its own. Like {@link
 * UnknownKeyLimit}.
 */
export type RefusedKeyLimit = AddressLimit;
export const createRefusedKeyLimit = (): RefusedKeyLimit => createAddressLimit(REFUSED);
