/**
 * The API as a function of requests, without a stack: `apiSite` with API keys and limits in memory,
 * and with the parts of the services that a test passes in: for what is asked of no store, or waits
 * and fails as none does. All else is asked of `api-in-process.ts`.
 */
import { apiSite } from "../../api/app.ts";
import { generateKey, type NewKey } from "../../api/auth/api-key.ts";
import type { BatchResult, RequestGroup } from "../../api/auth/sql.ts";
import type { CompatName } from "../../api/config.ts";
import type { PostgresRequests } from "../../api/idempotency/idempotency.ts";
import type { QuotaState } from "../../api/limits/quotas.ts";
import type { LimitWindow } from "../../api/limits/windows.ts";
import type { Services } from "../../api/services.ts";
import { listenOptions, type SiteContext } from "../../api/site.ts";
import type { Stores } from "../../api/stores.ts";
import { TrustedProxies } from "../../shared/client-address.ts";
import { SCOPES } from "../../shared/contracts/key-schemas.ts";
import type { Mode } from "../../shared/contracts/link-record.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { processLog } from "../../shared/log.ts";
import { type CallOptions, errorSchema, parseJsonOrText, toRequest } from "./api.ts";
import { fakeService } from "./fake-service.ts";

export const SHORT_URL = "https://sho.rt";

/** A caller as `authorize_request` returns it. */
export type FakeKey = {
  key: string;
  id: Uuid;
  accountId: Uuid;
  mode: Mode;
  scopes: string[];
  state: "ok" | "revoked" | "expired" | "suspended";
};

type FakeResponse = { status: number; headers: Headers; body: unknown; text: string };

/** The key is sent as a bearer token. */
type RequestOptions = Omit<CallOptions, "key"> & { key?: FakeKey | string };

/** Parts of services, by the names of the services. */
type Parts = { [Name in keyof Services]?: Partial<Services[Name]> };

export type FakeOptions = Partial<Omit<SiteContext, "stores">> & {
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
export const fakeServices = (parts: Parts = {}): Services =>
  // Every service can be asked for, so the cast is safe.
  new Proxy(parts, {
    get: (given, name: keyof Services) => fakeService(name, given[name]),
  }) as Services;

/** An API with the given partial services, and stores in place of those in memory. */
export class FakeApi {
  readonly #memory = new MemoryStores();
  readonly #app: FakeSite;

  constructor(parts: Parts = {}, { stores = {}, compat = [], ...options }: FakeOptions = {}) {
    Object.assign(this.#memory, stores);
    const context = { ...fakeContext(this.#memory), ...options };
    this.#app = apiSite(context, fakeServices(parts), compat);
  }

  /** Adds a key; by default of a new account, in live mode, with every scope. */
  addKey(change?: Partial<Omit<FakeKey, "key">>): FakeKey {
    return this.#memory.addKey(change);
  }

  /** Listens on a free port of this host, until it is disposed. */
  listen(): AsyncDisposable & { port: number } {
    const options = { hostname: "127.0.0.1", port: 0, ...listenOptions(false) };
    const { server } = this.#app.listen(options);
    if (server?.port === undefined) throw new Error("The API does not listen.");
    return {
      port: server.port,
      [Symbol.asyncDispose]: async () => await server.stop(true),
    };
  }

  async send(path: string, { key, ...options }: RequestOptions = {}): Promise<FakeResponse> {
    const token = typeof key === "string" ? key : key?.key;
    const request = new Request(`http://api.test${path}`, toRequest({ ...options, key: token }));
    const response = await this.#app.handle(request);
    const text = await response.text();
    const { status, headers } = response;
    return { status, headers, body: parseJsonOrText(text), text };
  }
}

/** What is used of an application. */
type FakeSite = {
  handle(request: Request): Promise<Response>;
  listen(options: object): {
    server: { port?: number | undefined; stop(force: boolean): Promise<void> } | null;
  };
};

/** Keys in memory, without limits. */
export class MemoryStores implements Stores {
  readonly requests = fakeService<PostgresRequests>("requests");
  readonly #keys = new Map<string, FakeKey & NewKey>();

  addKey(change: Partial<Omit<FakeKey, "key">> = {}): FakeKey {
    const generated = generateKey(change.mode ?? "live");
    const known = {
      id: newUuid(),
      accountId: newUuid(),
      scopes: [...SCOPES],
      state: "ok" as const,
      ...generated,
      ...change,
    };
    this.#keys.set(generated.lookup, known);
    return known;
  }

  async authorize(requests: readonly RequestGroup[]): Promise<(BatchResult | undefined)[]> {
    return requests.map((request) => this.#authorize(request));
  }

  async listWindows(): Promise<LimitWindow[]> {
    return [WINDOW];
  }

  async listQuotas(): Promise<QuotaState[]> {
    return [];
  }

  #authorize({ key, rule, wanted }: RequestGroup): BatchResult | undefined {
    const { lookup, secretHash } = key;
    const known = this.#keys.get(lookup);
    if (known === undefined || !known.secretHash.equals(secretHash)) return undefined;
    const permitted = rule.scope === null || known.scopes.includes(rule.scope);
    const { id: callerId, accountId, mode, scopes } = known;
    return {
      verdict: known.state === "ok" && !permitted ? "forbidden" : known.state,
      granted: wanted,
      principal: {
        callerId,
        actor: { type: "api_key", id: callerId },
        accountId,
        mode,
        scopes,
        plan: "pro",
      },
      isReplaced: false,
      allowedNetworks: [],
      now: Date.now(),
      throttledUntil: null,
      windows: [WINDOW],
    };
  }
}

const WINDOW: LimitWindow = {
  name: "minute",
  limit: 1_000,
  seconds: 60,
  spent: 0,
  resetsAt: Date.now() + 30_000,
};

/** The code of an error response; throws if the body is not exactly the error envelope. */
export const errorCodeOf = ({ body }: { body: unknown }): string =>
  errorSchema.parse(body).error.code;
