/**
 * Goal: a ledger that a disk has damaged is not taken for that of a limit of which nothing is used.
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { EMPTY_LEDGER, type Ledger } from "../../shared/contracts/click-limits.ts";
import { LIMITS_STREAM } from "../../shared/contracts/streams.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { processLog } from "../../shared/log.ts";
import { NatsClient } from "../../shared/nats.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { flipBit } from "../../test/harness/flip-bit.ts";
import { startNats, type TestNats } from "../../test/harness/nats.ts";
import { Ledgers } from "./ledgers.ts";

/** The file with the ledgers, and where the last one of a limit begins in it. */
function findLedger({ dir }: TestNats, limit: Uuid): [path: string, position: number] {
  const [block = ""] = new Bun.Glob(`**/${LIMITS_STREAM}/msgs/*.blk`).scanSync(dir);
  const path = join(dir, block);
  return [path, readFileSync(path).lastIndexOf(limit)];
}

test("a damaged ledger is named until the stream is made anew, and others are read", async () => {
  await using server = await startNats();
  const nats = new NatsClient(server.url, "redirector", processLog("redirector", "silent"));
  await nats.connection;
  const ledgers = new Ledgers(nats, 1);
  await eventually(() => ledgers.readStream());
  const [damaged, whole, unused] = [newUuid(), newUuid(), newUuid()];
  const used: Ledger = { stored: 0, folded: 50, entries: {} };
  for (const limit of [damaged, whole]) await ledgers.replace(limit, used, 0);
  await server.kill("SIGTERM");
  const [path, position] = findLedger(server, damaged);
  flipBit(path, position + 60);
  await server.start("retained");
  await eventually(async () => expect((await ledgers.read(whole)).ledger).toEqual(used));
  expect(ledgers.problem).toBeUndefined();

  expect(await ledgers.read(damaged).catch(String)).toContain("does not return it");
  expect(await ledgers.read(unused)).toEqual({ ledger: EMPTY_LEDGER, sequence: 0 });
  await ledgers.readStream();
  expect(ledgers.problem).toContain(damaged);

  await (await (await nats.connection).jetstreamManager()).streams.delete(LIMITS_STREAM);
  await ledgers.readStream();
  expect(ledgers.problem).toBeUndefined();
  expect(await ledgers.read(damaged)).toEqual({ ledger: EMPTY_LEDGER, sequence: 0 });
  await nats.close();
});
