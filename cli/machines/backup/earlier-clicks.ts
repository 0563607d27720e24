/**
 * Months of clicks that versions up to 0.2.0 wrote into the directory: `clicks/YYYYMM.tsv.gz`.
 * Those that retention has deleted from ClickHouse are only there.
 */
import { createReadStream, statSync } from "node:fs";
import { join } from "node:path";
import { createGunzip } from "node:zlib";

import type { ClicksMonth } from "./manifest.ts";
import { countLines } from "./rows.ts";
import { createDigest, type Storage } from "./storage.ts";

const NAME = /^clicks\/(\d{6})\.tsv\.gz$/;

/** Finds them, and reads each to count and to hash it. */
export async function adoptEarlierClicks(storage: Storage): Promise<ClicksMonth[]> {
  const months: ClicksMonth[] = [];
  for (const name of (await storage.list()).toSorted()) {
    const month = NAME.exec(name)?.[1];
    if (month === undefined) continue;
    const path = join(storage.place, name);
    const digest = createDigest();
    for await (const _ of digest.pass(createReadStream(path)));
    let lines = 0;
    for await (const chunk of createReadStream(path).pipe(createGunzip()))
      lines += countLines(chunk);
    months.push({
      month: Number(month),
      // The first line has the names of the columns.
      clicks: lines - 1,
      made_at: statSync(path).mtime.toISOString(),
      file: { name, ...digest.result() },
    });
  }
  return months;
}
