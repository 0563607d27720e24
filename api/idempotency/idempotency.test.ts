import { expect, test } from "bun:test";
import { randomBytes } from "node:crypto";

import fc from "fast-check";

import { newUuid } from "../../shared/ids.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { deleteExpiredRows } from "../expired-rows.ts";
import { decrypt, encrypt, PostgresRequests, type StoredRequest } from "./idempotency.ts";

test("a ciphertext decrypts only with its secret, and never when it was changed", () => {
  fc.assert(
    fc.property(fc.string(), fc.string({ unit: "grapheme" }), fc.nat(), (secret, text, at) => {
      const ciphertext = encrypt(secret, text);
      expect(decrypt(secret, ciphertext)).toBe(text);
      expect(decrypt(`${secret}x`, ciphertext)).toBeUndefined();
      const changed = Buffer.from(ciphertext);
      const i = at % changed.length;
      changed[i] = (changed[i] ?? 0) ^ 1;
      expect(decrypt(secret, changed)).toBeUndefined();
    }),
  );
});

const postgres = await forFile(startPostgres());

const store = () => new PostgresRequests(postgres.sql);

const newRequest = async (): Promise<StoredRequest> => ({
  accountId: await postgres.addAccount(),
  mode: "live",
  keyHash: randomBytes(32),
  requestHash: randomBytes(32),
});

/** Moves the times of a stored request into the past. */
const age = (request: StoredRequest, seconds: number) => postgres.sql`
  update idempotency_keys
     set created_at = created_at - make_interval(secs => ${seconds}),
         claimed_until = claimed_until - make_interval(secs => ${seconds})
   where key_hash = ${request.keyHash}`;

const MINUTE = 60;

const DAY = 86_400;

test("a request whose process crashed is leased again after a minute, with the same id", async () => {
  const request = await newRequest();
  const first = await store().claim(request, newUuid());
  await age(request, MINUTE - 5);
  expect((await store().claim(request, newUuid())).claimed).toBe(false);
  await age(request, 10);
  expect(await store().claim(request, newUuid())).toMatchObject({
    claimed: true,
    resource_id: first.resource_id,
  });
});

test("a different request with the key of a crashed one does not take it over", async () => {
  const request = await newRequest();
  await store().claim(request, newUuid());
  await age(request, 2 * MINUTE);
  const other = await store().claim({ ...request, requestHash: randomBytes(32) }, newUuid());
  expect(other.claimed).toBe(false);
  expect(Buffer.from(other.request_hash).equals(request.requestHash)).toBe(true);
});

test("after a day a key can be used for a new request, and expired ones are deleted", async () => {
  const [used, abandoned] = [await newRequest(), await newRequest()];
  const first = await store().claim(used, newUuid());
  await store().save(used, Buffer.from("response"));
  await store().claim(abandoned, newUuid());
  await age(used, DAY + MINUTE);
  const next = await store().claim(used, newUuid());
  expect([next.claimed, next.result]).toEqual([true, null]);
  expect(next.resource_id).not.toBe(first.resource_id);
  await age(abandoned, DAY + MINUTE);
  await deleteExpiredRows(postgres.sql);
  const left = await postgres.sql`
    select from idempotency_keys where key_hash = ${used.keyHash} or key_hash = ${abandoned.keyHash}`;
  expect(left).toHaveLength(1);
});
