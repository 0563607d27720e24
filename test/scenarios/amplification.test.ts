/**
 * Goal: a free key causes no more CPU time than its limits are meant to allow, on any route, in an
 * account with a million clicks. Writes `bench/results/amplification.json`.
 */
import { expect, test } from "bun:test";

import { openData, tagLinks } from "../harness/analytics-data.ts";
import { Dns } from "../harness/dns.ts";
import { forFile } from "../harness/for-file.ts";
import { publish } from "../harness/report.ts";
import { readLimits } from "../hostile/amplification/limits.ts";
import { measureAmplification } from "../hostile/amplification/measure.ts";
import { listTargets, toMinutes, toRow } from "../hostile/amplification/report.ts";

const CLICKS = 1_000_000;

/** Longer than all routes take. */
const TIMEOUT_MS = 3_600_000;

const percentIn = (row: Record<string, string | number>): number =>
  Number(row["% of a core at most"]);

const dns = await forFile(Dns.start());
const data = await openData(CLICKS, undefined, { env: { DNS_SERVERS: dns.address } });
const stack = await forFile(data.stack);

test(
  "no route costs a process more than a key may cause",
  async () => {
    await tagLinks(data);
    const limits = await readLimits(stack);
    const measured = await measureAmplification(data, limits, console.log);
    const targets = listTargets(measured, toMinutes(limits));
    const rows = measured.map(toRow).toSorted((a, b) => percentIn(b) - percentIn(a));
    publish({ name: "amplification", rows, targets });
    expect(targets.filter(({ met }) => !met)).toEqual([]);
  },
  TIMEOUT_MS,
);
