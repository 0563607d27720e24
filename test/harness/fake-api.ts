/**
 * The API as a function of requests, without a stack: `apiSite` with API keys, limits and
 * idempotency records in memory, and with the parts of the services that a test passes in. The real
 * implementations are tested on PostgreSQL (`postgres.ts`) and end to end.
 */
import { apiSite } from "../../api/app.ts";
import { generateKey, type NewKey } from "../../api/auth/api-key.ts";
import type { BatchResult, RequestGroup } from "../../api/auth/sql.ts";
import type { CompatName } from "../../api/config.ts";
import type { AccountScope } from "../../api/http/principal.ts";
import type { IdempotencyStore, StoredRequest } from "../../api/idempotency/idempotency.ts";
import type { QuotaState } from "../../api/limits/quotas.ts";
import type { LimitWindow } from "../../api/limits/windows.ts";
import type { SiteServices } from "../../api/resource-routes.ts";
import { listenOptions, type SiteContext } from "../../api/site.ts";
import type { Stores } from "../../api/stores.ts";
import { TrustedProxies } from "../../shared/client-address.ts";
import type { Mode } from "../../shared/contracts/link-record.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { processLog } from "../../shared/log.ts";
import { fakeService } from "./fake-service.ts";

export const SHORT_URL = "https://sho.rt";

/** A caller as `authorize_request` returns it. */
export type FakeKey = {
  key: string;
  id: Uuid;
  accountId: Uuid;
  mode: Mode;
  scopes: string[];
  state: "ok" | "revoked" | "expired" | "barred";
  /** Requests left in the current minute. */
  remaining: number;
};

type FakeResponse = { status: number; headers: Headers; body: unknown; text: string };

type RequestOptions = {
  method?: string;
  /** Sent as a bearer token; no token if left out. */
  key?: FakeKey | string;
  /** Sent as JSON; a string is sent as it is. */
  body?: unknown;
  headers?: Record<string, string>;
};

export type FakeApi = {
  send(path: string, options?: RequestOptions): Promise<FakeResponse>;
  /** Listens on a free port of this host, until it is disposed. */
  listen(): AsyncDisposable & { port: number };
  /** Adds a key; by default of a new account, in live mode, with every scope. */
  addKey(change?: Partial<Omit<FakeKey, "key">>): FakeKey;
};

const ALL_SCOPES = [
  "links:read",
  "links:write",
  "links:delete",
  "analytics:read",
  "domains:read",
  "domains:write",
  "keys:read",
  "keys:write",
  "shares:read",
  "shares:write",
  "webhooks:read",
  "webhooks:write",
  "events:read",
  "reports:read",
  "reports:write",
];

const MINUTE_LIMIT = 1_000;

type Services = { [Name in keyof SiteServices]?: Partial<SiteServices[Name]> };

type Options = Partial<Omit<SiteContext, "stores">> & {
  stores?: Partial<Stores>;
  compat?: readonly CompatName[];
};

/** A client has the address that the test sends, without a connection. */
class FakeProxies extends TrustedProxies {
  override clientOf(_peer: string, forwardedFor: string | null): string {
    return forwardedFor ?? "203.0.113.1";
  }
}

/**
 * The surroundings of a site without a process. A request without a connection has the client
 * address that the test sends in X-Forwarded-For.
 */
export const fakeContext = (stores: Stores): SiteContext => ({
  log: processLog("test", "silent"),
  stores,
  proxies: new FakeProxies([]),
  shortUrl: SHORT_URL,
  apiUrl: undefined,
  corsOrigins: [],
  clientFile: "",
  sendsMails: false,
  isStopping: () => false,
  isBehind: () => false,
  noteFailure: () => undefined,
  noteCompleted: () => undefined,
});

/** Services of which only the given parts may be called. */
export const fakeServices = (services: Services = {}): SiteServices => ({
  links: fakeService("links", services.links),
  analytics: fakeService("analytics", services.analytics),
  failures: fakeService("failures", services.failures),
  clicks: fakeService("clicks", services.clicks),
  keys: fakeService("keys", services.keys),
  domains: fakeService("domains", services.domains),
  shares: fakeService("shares", services.shares),
  tags: fakeService("tags", services.tags),
  branding: fakeService("branding", services.branding),
  views: fakeService("views", services.views),
  webhooks: fakeService("webhooks", services.webhooks),
  events: fakeService("events", services.events),
  reports: fakeService("reports", services.reports),
  unsubscriber: fakeService("unsubscriber", services.unsubscriber),
  linkReports: fakeService("linkReports", services.linkReports),
  shared: fakeService("shared", services.shared),
});

/** Creates an API with the given partial services, and stores in place of those in memory. */
export function createFakeApi(
  services: Services = {},
  { stores = {}, compat = [], ...options }: Options = {},
): FakeApi {
  const memory = new MemoryStores();
  Object.assign(memory, stores);
  const app = apiSite({ ...fakeContext(memory), ...options }, fakeServices(services), compat);

  return {
    addKey: (change) => memory.addKey(change),
    listen() {
      const { server } = app.listen({ hostname: "127.0.0.1", port: 0, ...listenOptions(false) });
      if (server?.port === undefined) throw new Error("The API does not listen.");
      return {
        port: server.port,
        [Symbol.asyncDispose]: async () => await server.stop(true),
      };
    },
    async send(path, { method, key, body, headers = {} } = {}) {
      const token = typeof key === "string" ? key : key?.key;
      const response = await app.handle(
        new Request(`http://api.test${path}`, {
          method: method ?? (body === undefined ? "GET" : "POST"),
          headers: {
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
            ...(body === undefined ? {} : { "content-type": "application/json" }),
            ...headers,
          },
          ...(body === undefined
            ? {}
            : { body: typeof body === "string" ? body : JSON.stringify(body) }),
        }),
      );
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        body: parseJsonOrText(text),
        text,
      };
    },
  };
}

/** Keys, limits and idempotent requests in memory; nothing expires during a test. */
export class MemoryStores implements Stores {
  readonly requests = new MemoryRequests();
  readonly #keys = new Map<string, FakeKey & NewKey>();

  addKey(change: Partial<Omit<FakeKey, "key">> = {}): FakeKey {
    const generated = generateKey(change.mode ?? "live");
    const known = {
      id: newUuid(),
      accountId: newUuid(),
      scopes: ALL_SCOPES,
      state: "ok" as const,
      remaining: MINUTE_LIMIT,
      ...generated,
      ...change,
    };
    this.#keys.set(generated.lookup, known);
    return known;
  }

  async authorize(requests: readonly RequestGroup[]): Promise<(BatchResult | undefined)[]> {
    return requests.map((request) => this.#authorize(request));
  }

  async listWindows({ accountId }: AccountScope): Promise<LimitWindow[]> {
    return [...this.#keys.values()].filter((known) => known.accountId === accountId).map(toWindow);
  }

  async listQuotas(): Promise<QuotaState[]> {
    return [{ name: "domains", limit: 10, used: 1, seconds: null, resetsAt: null }];
  }

  #authorize({ key, rule, cost }: RequestGroup): BatchResult | undefined {
    const { lookup, secretHash } = key;
    const known = this.#keys.get(lookup);
    if (known === undefined || !known.secretHash.equals(secretHash)) return undefined;
    const permitted = rule.scope === null || known.scopes.includes(rule.scope);
    const granted = Math.min(cost, known.remaining);
    const limited = granted < cost && granted === 0;
    const state = known.state === "ok" && !permitted ? "forbidden" : known.state;
    const verdict = state === "ok" && limited ? "limited" : state;
    if (verdict === "ok") known.remaining -= granted;
    const { id: callerId, accountId, mode, scopes } = known;
    return {
      verdict,
      granted,
      principal: {
        callerId,
        actor: { type: "api_key", id: callerId },
        accountId,
        mode,
        scopes,
        plan: "pro",
      },
      now: Date.now(),
      suspendedUntil: null,
      windows: [toWindow(known)],
    };
  }
}

const toWindow = ({ remaining }: FakeKey): LimitWindow => ({
  name: "minute",
  limit: MINUTE_LIMIT,
  seconds: 60,
  spent: MINUTE_LIMIT - remaining,
  resetsAt: Date.now() + 30_000,
});

const toMapKey = ({ accountId, mode, keyHash }: StoredRequest): string =>
  `${accountId} ${mode} ${Buffer.from(keyHash).toString("hex")}`;

type StoredEntry = {
  resource_id: Uuid;
  request_hash: Uint8Array;
  result: Uint8Array | null;
  released: boolean;
};

/** The table `idempotency_keys` as a map; nothing expires during a test. */
class MemoryRequests implements IdempotencyStore {
  readonly #entries = new Map<string, StoredEntry>();

  async claim(
    request: StoredRequest,
    resourceId: Uuid,
  ): Promise<StoredEntry & { claimed: boolean }> {
    const known = this.#entries.get(toMapKey(request));
    if (known !== undefined && !known.released) return { claimed: false, ...known };
    const entry = {
      resource_id: known?.resource_id ?? resourceId,
      request_hash: request.requestHash,
      result: null,
      released: false,
    };
    this.#entries.set(toMapKey(request), entry);
    return { claimed: true, ...entry };
  }

  async save(request: StoredRequest, result: Uint8Array): Promise<void> {
    const entry = this.#entries.get(toMapKey(request));
    if (entry !== undefined) entry.result = result;
  }

  async release(request: StoredRequest): Promise<void> {
    const entry = this.#entries.get(toMapKey(request));
    if (entry !== undefined) entry.released = true;
  }

  async forget(request: StoredRequest): Promise<void> {
    this.#entries.delete(toMapKey(request));
  }
}

/** Returns the code of an error response; throws if the body is not exactly the error envelope. */
export function errorCodeOf({ body }: Pick<FakeResponse, "body">): string {
  const { error, ...more } = body as { error: { code: string; message: string } };
  if (Object.keys(more).length > 0 || typeof error.message !== "string" || error.message === "")
    throw new Error(`Not an error response: ${JSON.stringify(body)}`);
  return error.code;
}

function parseJsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
