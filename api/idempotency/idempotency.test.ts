/**
 * Goal: a repeated request with an `Idempotency-Key` is executed once and gets the first response.
 */
import { beforeAll, beforeEach, describe, expect, test } from "bun:test";

import { newUuid } from "../../shared/ids.ts";
import {
  createFakeApi,
  errorCodeOf,
  type FakeApi,
  type FakeKey,
} from "../../test/harness/fake-api.ts";
import type { DomainRow } from "../domains/model.ts";
import { ApiError } from "../http/errors.ts";

let api: FakeApi;
let key: FakeKey;
/** The creations that were executed. */
let creations: string[];
/** The outcomes of the next creations, in order; later ones succeed. */
let outcomes: (() => Promise<void>)[];

const domainRow = (host: string): DomainRow => ({
  id: newUuid(),
  account_id: newUuid(),
  host,
  verification_value: "value",
  created_at: new Date(),
  verified_at: null,
  case_sensitive: true,
  switching: false,
  settings: null,
  missing_since: null,
});

beforeAll(() => {
  api = createFakeApi({
    domains: {
      async create(_, id, host) {
        creations.push(id);
        await outcomes.shift()?.();
        return { ...domainRow(host), id };
      },
    },
    keys: {
      async create({ accountId, mode }, { name, scopes }) {
        creations.push(name);
        const row = {
          id: newUuid(),
          account_id: accountId,
          name,
          mode,
          prefix: "sk_live_1234",
          scopes: [...scopes],
          created_at: new Date(),
          last_used_at: null,
          expires_at: null,
          revoked_at: null,
        };
        return { row, key: `value ${creations.length}` };
      },
    },
  });
});
beforeEach(() => {
  creations = [];
  outcomes = [];
  key = api.addKey();
});

const send = (idempotencyKey: string, domain = "go.example.com", caller = key) =>
  api.send("/v1/domains", {
    key: caller,
    body: { domain },
    headers: { "idempotency-key": idempotencyKey },
  });

describe("a repeated request", () => {
  test("gets the first response, and creates nothing", async () => {
    const first = await send("a");
    const replay = await send("a");
    expect([first.status, replay.status]).toEqual([201, 201]);
    expect(replay.text).toBe(first.text);
    expect(replay.headers.get("location")).toBe(first.headers.get("location"));
    expect(first.headers.get("idempotent-replayed")).toBeNull();
    expect(replay.headers.get("idempotent-replayed")).toBe("true");
    expect(creations).toHaveLength(1);
  });

  test("is executed again with another key, or without one", async () => {
    await send("a");
    await send("b");
    for (let i = 0; i < 2; i++)
      await api.send("/v1/domains", { key, body: { domain: "go.example.com" } });
    expect(new Set(creations).size).toBe(4);
  });

  test("gets the first response also when it was a rejection", async () => {
    const details = [{ param: "domain", message: "Taken." }];
    const rejection = new ApiError("domain_taken", "Taken.", { param: "domain", details });
    outcomes = [() => Promise.reject(rejection)];
    for (let i = 0; i < 2; i++) {
      const { status, body } = await send("a");
      expect(status).toBe(409);
      expect(body).toMatchObject({ error: { code: "domain_taken", param: "domain", details } });
    }
    expect(creations).toHaveLength(1);
  });

  test("that failed validation may be corrected under the same key", async () => {
    outcomes = [() => Promise.reject(new ApiError("invalid_request", "Not a domain."))];
    expect((await send("a", "nonsense")).status).toBe(400);
    const corrected = await send("a");
    expect([corrected.status, corrected.headers.get("idempotent-replayed")]).toEqual([201, null]);
  });

  test("is executed again, with the same id, after a failure on our side", async () => {
    outcomes = [() => Promise.reject(new Error("The disk is on fire."))];
    const failed = await send("a");
    expect([failed.status, errorCodeOf(failed)]).toEqual([500, "internal"]);
    expect(failed.text).not.toContain("fire");
    expect((await send("a")).status).toBe(201);
    expect(creations).toHaveLength(2);
    expect(new Set(creations).size).toBe(1);
  });
});

describe("an Idempotency-Key", () => {
  test("that was used with another body is a conflict", async () => {
    await send("a");
    const response = await send("a", "other.example.com");
    expect([response.status, errorCodeOf(response)]).toEqual([409, "idempotency_conflict"]);
    expect(creations).toHaveLength(1);
  });

  test("whose first request is still running is in progress", async () => {
    const running = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    outcomes = [
      () => {
        started.resolve();
        return running.promise;
      },
    ];
    const first = send("a");
    await started.promise;
    const second = await send("a");
    expect([second.status, errorCodeOf(second)]).toEqual([409, "idempotency_in_progress"]);
    expect(second.headers.get("retry-after")).toBe("1");
    running.resolve();
    expect((await first).status).toBe(201);
  });

  test.each(["x".repeat(256), "a b", "a\tb"])(
    "that is malformed is rejected: %p",
    async (value) => {
      const response = await send(value);
      expect([response.status, errorCodeOf(response)]).toEqual([400, "invalid_request"]);
      expect(creations).toEqual([]);
    },
  );

  test("of one account is independent of another account's", async () => {
    const first = await send("a");
    const other = await send("a", "go.example.com", api.addKey());
    expect(other.headers.get("idempotent-replayed")).toBeNull();
    expect(other.text).not.toBe(first.text);
    expect(creations).toHaveLength(2);
  });

  test("replays the value of a new API key only to the key that created it", async () => {
    const create = (caller: FakeKey) =>
      api.send("/v1/keys", {
        key: caller,
        body: { name: "CI", scopes: ["links:read"] },
        headers: { "idempotency-key": "secret" },
      });
    const first = await create(key);
    expect((await create(key)).text).toBe(first.text);
    const colleague = await create(api.addKey({ accountId: key.accountId }));
    expect([colleague.status, errorCodeOf(colleague)]).toEqual([409, "idempotency_conflict"]);
    expect(creations).toEqual(["CI"]);
  });
});
