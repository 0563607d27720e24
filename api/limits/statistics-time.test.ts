/** Goal: an account gets as much of ClickHouse's time as it may have, and nobody else waits for it. */
import { expect, test } from "bun:test";

import { queryRows } from "../../shared/clicks/query.ts";
import { newUuid } from "../../shared/ids.ts";
import { type ClickHouseFor, createClickHouseFor, STATISTICS_TIME } from "./statistics-time.ts";

const QUERY_MS = 1_500;

const measured = (onWork: (ms: number) => void) => ({
  async query() {
    onWork(QUERY_MS);
    return { json: async () => [] };
  },
  chunks: () => Promise.reject(new Error("Nothing is read in parts.")),
  command: () => Promise.reject(new Error("Nothing is changed.")),
});

/** A client whose queries take ClickHouse {@link QUERY_MS}. */
const CLIENT = { ...measured(() => undefined), measured };

type Reader = Parameters<ClickHouseFor>[0];

const newReader = (plan?: string): Reader => ({
  accountId: newUuid(),
  mode: "live",
  ...(plan === undefined ? {} : { plan }),
});

/** How many of 1,000 queries are answered before one is refused. */
async function countAnswered(clickhouseFor: ClickHouseFor, reader: Reader): Promise<number> {
  for (let i = 0; i < 1_000; i++) {
    try {
      await queryRows(clickhouseFor(reader), "SELECT 1");
    } catch {
      return i;
    }
  }
  return 1_000;
}

test("an account's queries are answered until it has used up its time", async () => {
  const clickhouseFor = createClickHouseFor(CLIENT);
  const reader = newReader("free");
  const answered = await countAnswered(clickhouseFor, reader);
  // A query begins while anything is left; some time passes meanwhile.
  expect(answered).toBeWithin(
    Math.ceil(STATISTICS_TIME.most / QUERY_MS),
    Math.ceil(STATISTICS_TIME.most / QUERY_MS) + 2,
  );
  expect(() => clickhouseFor(reader)).toThrow(/^Rate limit exceeded: .* Try again in \d+ seconds/);
  // The other mode of the account is the same account; another account is not.
  expect(() => clickhouseFor({ ...reader, mode: "test" })).toThrow();
  expect(await countAnswered(clickhouseFor, newReader("free"))).toBe(answered);
});

test("a larger plan has more", async () => {
  const clickhouseFor = createClickHouseFor(CLIENT);
  const free = await countAnswered(clickhouseFor, newReader("free"));
  expect(await countAnswered(clickhouseFor, newReader("pro"))).toBeGreaterThan(4 * free);
});

test("what the service reads for itself is answered", async () => {
  const clickhouseFor = createClickHouseFor(CLIENT);
  expect(await countAnswered(clickhouseFor, newReader())).toBe(1_000);
});
