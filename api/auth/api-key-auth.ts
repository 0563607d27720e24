/**
 * Authenticates callers of `/v1` by API key, and consumes from the rate limits of the key's
 * account.
 *
 * Requests that consume nothing there, because their key does not work or because they only read
 * the limits, are limited in this process's memory. A key is known by the whole of it, so no one
 * without the key can exhaust its limits; what works counts for its account, which can make any
 * number of keys.
 */
import { isIP } from "node:net";

import { LRUCache } from "lru-cache";

import { AddressList, networkToKeep } from "../../shared/addresses.ts";
import type { Uuid } from "../../shared/ids.ts";
import { ApiError } from "../http/errors.ts";
import { type Call, originOf, type ResponseHeaders } from "../http/request-context.ts";
import {
  findExhausted,
  findMostConstrained,
  inSeconds,
  KeyWindow,
  NetworkWindow,
  rateLimited,
  rateLimitHeaders,
  secondsUntil,
} from "../limits/windows.ts";
import { type AccessRule, type AuthContext, Authenticator } from "./access-rules.ts";
import { type KeyParts, parseKey } from "./api-key.ts";
import type { Authorizer } from "./authorizer.ts";
import type { AuthorizationResult, Verdict } from "./sql.ts";

/** Throws `unauthorized`, `forbidden`, `key_revoked` and `rate_limited`. */
export class ApiKeyAuthenticator extends Authenticator {
  readonly #authorizer: Authorizer;
  readonly #known = new LRUCache<string, KnownKey>({ max: REMEMBERED_MAX });
  readonly #limits = new KeyLimits();
  readonly #unknownKeys = new NetworkWindow("unknown_keys");
  readonly #refusedKeys = new NetworkWindow("refused_keys");

  constructor(authorizer: Authorizer) {
    super();
    this.#authorizer = authorizer;
  }

  override isVerified(headers: Headers): boolean {
    const key = parseKey(bearerToken(headers.get("authorization") ?? "") ?? "");
    return key !== undefined && this.#wasVerified(keyId(key));
  }

  protected override async identify(
    { call, request, headers }: AuthContext,
    access: AccessRule | "session",
  ): Promise<void> {
    if (access === "session") throw new Error("The API has no sessions.");
    const key = requireKey(request.headers.get("authorization"));
    const id = keyId(key);
    this.#requireAllowed(id, call, headers);
    this.#requireUnexhausted(id, access, call, headers);
    const result = await this.#authorizer.authorize(id, key, access, networkOf(call));
    this.#record(id, access, call, result);
    if (result === undefined) throw invalidKey();
    this.#requireAllowed(id, call, headers);
    const { principal } = result;
    call.principal = { ...principal, actor: { ...principal.actor, origin: originOf(call) } };
    call.confirm = () => this.#confirm(key, access, call);
    Object.assign(headers, describeLimits(result));
    throwUnlessOk(result, access);
  }

  /**
   * Throws `forbidden` where the key does not work, at the cost of that network: once the key's
   * networks are known here, without a query, so that nobody elsewhere spends its account's limits.
   */
  #requireAllowed(id: string, { address }: Call, headers: ResponseHeaders): void {
    const networks = this.#known.get(id)?.networks;
    if (networks === undefined || networks.has(address)) return;
    this.#refusedKeys.enforce(address, headers);
    throw new ApiError(
      "forbidden",
      `The API key does not work from the network ${networkToKeep(address)}: use it in one of its allowed_networks, or rotate it to a key that allows this one.`,
    );
  }

  /**
   * Throws `rate_limited`, before any query, for a network that sends keys which do not work, and
   * for a key beyond its limits in this process. A recently verified key passes.
   */
  #requireUnexhausted(
    id: string,
    rule: AccessRule,
    { address }: Call,
    headers: ResponseHeaders,
  ): void {
    if (!this.#wasVerified(id)) {
      for (const limit of [this.#unknownKeys, this.#refusedKeys])
        if (limit.isExhausted(address)) limit.enforce(address, headers);
    }
    this.#limits.enforce(id, this.#known.get(id)?.account ?? id, rule, headers);
  }

  #wasVerified(id: string): boolean {
    return (this.#known.get(id)?.verifiedUntil ?? 0) > performance.now();
  }

  /** Counts what is known of the key from now on. */
  #record(
    id: string,
    rule: AccessRule,
    { address }: Call,
    result: AuthorizationResult | undefined,
  ): void {
    if (result === undefined) {
      this.#unknownKeys.consume(address);
      return;
    }
    const { verdict, principal, allowedNetworks } = result;
    const account = principal.accountId;
    const known = this.#known.get(id);
    const isRefused = isRefusedEverywhere(verdict);
    this.#known.set(id, {
      account,
      networks:
        known?.networks ??
        (allowedNetworks.length > 0 ? new AddressList(allowedNetworks) : undefined),
      verifiedUntil: isRefused ? 0 : performance.now() + VERIFIED_MS,
    });
    if (isRefused) this.#refusedKeys.consume(address);
    if (known === undefined) this.#limits.takeOver(id, account);
    this.#limits.record(id, rule, verdict, account);
  }

  /** Throws as a new request with the key would; consumes nothing from its limits. */
  async #confirm(key: KeyParts, rule: AccessRule, call: Call): Promise<void> {
    const looked = { ...rule, endpoint: null, cost: 0 } as const;
    const result = await this.#authorizer.authorize(keyId(key), key, looked, networkOf(call));
    if (result === undefined) throw invalidKey();
    const isThrottled = (result.throttledUntil ?? 0) > result.now;
    throwUnlessOk(isThrottled ? { ...result, verdict: "throttled" } : result, rule);
  }
}

/** Keys that are known, and scopes that keys lack, at most. */
const REMEMBERED_MAX = 50_000;

/** How long a key counts as recently verified. */
const VERIFIED_MS = 15 * 60_000;

/** What this process knows of a key, by the whole of it. */
type KnownKey = {
  account: Uuid;
  /** Where it works, which no key ever changes; undefined for everywhere. */
  networks: AddressList | undefined;
  /** Until when the limit of its address never refuses it, as of `performance.now()`. */
  verifiedUntil: number;
};

const REFUSED_EVERYWHERE: ReadonlySet<Verdict> = new Set(["revoked", "expired", "suspended"]);

/** Whether a verdict applies to every request of a key. */
const isRefusedEverywhere = (verdict: Verdict): boolean => REFUSED_EVERYWHERE.has(verdict);

/** Limits of what consumes nothing from an account's windows. */
class KeyLimits {
  readonly #readings = new KeyWindow("limits_readings");
  readonly #refused = new KeyWindow("refused_requests");
  readonly #lacking = new LRUCache<string, true>({ max: REMEMBERED_MAX });

  /**
   * Throws `rate_limited`, with the window in the headers, when the limit for this rule is
   * exhausted for the key `id` or its account, which is the key itself while it is not known.
   */
  enforce(id: string, account: string, rule: AccessRule, headers: ResponseHeaders): void {
    if (this.#refused.isExhausted(id)) this.#refused.enforce(id, headers);
    // A key that lacks one scope may use its other scopes, and so may other keys of the account.
    const lacksScope = this.#lacking.has(scopeKey(id, rule));
    if (lacksScope && this.#refused.isExhausted(account)) this.#refused.enforce(account, headers);
    if (rule.cost === 0) this.#readings.enforce(account, headers);
  }

  /** Counts a verdict that refuses the key, or that lacks this rule's scope; ignores any other. */
  record(id: string, rule: AccessRule, verdict: Verdict, account: Uuid): void {
    if (isRefusedEverywhere(verdict)) this.#refused.consume(id);
    if (verdict !== "forbidden") return;
    this.#lacking.set(scopeKey(id, rule), true);
    this.#refused.consume(account);
  }

  /** Counts for the account what was counted for its key before anybody knew whose that is. */
  takeOver(id: string, account: Uuid): void {
    for (let left = this.#readings.state(id).spent; left > 0; left--)
      this.#readings.consume(account);
  }
}

/** The network of a client whose address is known. */
const networkOf = ({ address }: Call): string | null =>
  isIP(address) === 0 ? null : networkToKeep(address);

const scopeKey = (id: string, rule: AccessRule): string => `${id} ${rule.scope}`;

/** The key of a request; throws `unauthorized`, without a query, when there is none. */
function requireKey(authorization: string | null): KeyParts {
  const token = bearerToken(authorization ?? "");
  if (token === undefined) {
    throw unauthorized("This request needs an API key: Authorization: Bearer <API key>.");
  }
  const key = parseKey(token);
  if (key === undefined) throw invalidKey();
  return key;
}

/** Identifies the whole key, so that a guessed secret does not match the real one. */
const keyId = (key: KeyParts): string => key.lookup + key.secretHash.toString("base64");

/**
 * The headers of a refusal describe the exhausted window, those of other responses the most
 * constrained one.
 */
function describeLimits(result: AuthorizationResult): Record<string, string> {
  const { verdict, windows, throttledUntil } = result;
  const window = verdict === "limited" ? findExhausted(windows) : findMostConstrained(windows);
  if (window === undefined) return {};
  if (verdict !== "throttled" || throttledUntil === null) return rateLimitHeaders(window);
  return rateLimitHeaders({ ...window, spent: window.limit, resetsAt: throttledUntil });
}

function throwUnlessOk(result: AuthorizationResult, rule: AccessRule): void {
  switch (result.verdict) {
    case "ok":
      return;
    case "revoked":
      throw new ApiError(
        "key_revoked",
        result.isReplaced
          ? "The API key has been rotated: use the key that replaced it."
          : "The API key has been revoked.",
      );
    case "expired":
      throw unauthorized("The API key has expired.");
    case "forbidden":
      throw new ApiError("forbidden", `The API key lacks the scope ${rule.scope}.`);
    case "suspended":
      throw new ApiError("forbidden", "The account is suspended.");
    case "throttled": {
      const wait = secondsUntil(result.throttledUntil ?? result.now, result.now);
      throw new ApiError(
        "rate_limited",
        `API access is suspended. Try again in ${inSeconds(wait)}.`,
        {
          retryAfterSeconds: wait,
        },
      );
    }
    case "limited": {
      const window = findExhausted(result.windows);
      if (window === undefined) throw new Error("A request was refused by no window.");
      throw rateLimited(window, result.now);
    }
  }
}

const invalidKey = (): ApiError => unauthorized("The API key is not valid.");

const unauthorized = (message: string): ApiError =>
  new ApiError("unauthorized", message, { headers: { "www-authenticate": "Bearer" } });

/** The token of a Bearer header (RFC 6750); the scheme is case-insensitive (RFC 9110 §11.1). */
const bearerToken = (header: string): string | undefined =>
  /^bearer +(?<token>\S+)$/i.exec(header)?.groups?.["token"];
