/**
 * Goal: a request with an `Idempotency-Key` is safe to repeat while the first one runs, and after it
 * has failed. What else such a key promises is tested on real stores, in `test/api/idempotency.test.ts`.
 */
import { beforeEach, describe, expect, test } from "bun:test";

import { newUuid } from "../../shared/ids.ts";
import { createFakeApi, errorCodeOf, type FakeKey } from "../../test/harness/fake-api.ts";
import type { DomainRow } from "../domains/model.ts";

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

const api = createFakeApi({
  domains: {
    async create(_, id, host) {
      creations.push(id);
      await outcomes.shift()?.();
      return { ...domainRow(host), id };
    },
  },
});
beforeEach(() => {
  creations = [];
  outcomes = [];
  key = api.addKey();
});

const send = (idempotencyKey: string) =>
  api.send("/v1/domains", {
    key,
    body: { domain: "go.example.com" },
    headers: { "idempotency-key": idempotencyKey },
  });

describe("a repeated request", () => {
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
});
