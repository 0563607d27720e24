/**
 * Goal: a ledger that a disk has damaged is not taken for that of a limit of which nothing is used.
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";

import { EMPTY_LEDGER, type Ledger } from "../../shared/contracts/click-limits.ts";
import { LIMITS_STREAM } from "../../shared/contracts/streams.ts";
import { newUuid } from "../../shared/ids.ts";
import { processLog } from "../../shared/log.ts";
import { NatsClient } from "../../shared/nats.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { flipBit } from "../../test/harness/flip-bit.ts";
import { startNats } from "../../test/harness/nats.ts";
import { Ledgers } from "./ledgers.ts";

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
  const path = server.blockOf(LIMITS_STREAM);
  flipBit(path, readFileSync(path).lastIndexOf(damaged) + 60);
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
