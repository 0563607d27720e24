import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { encodeLinkRecord } from "../../shared/contracts/link-record.ts";
import { EMPTY_LOG, toChange } from "../../shared/links-store/schema.ts";
import { activeLink } from "../../test/harness/link-record.ts";
import { LogStore } from "./log-store.ts";
import { SlowReads } from "./slow-reads.ts";
import { currentFolder } from "./store-files.ts";

let dir: string;
let slowReads: SlowReads;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "shorthop-slow-reads-"));
  slowReads = new SlowReads(new URL("./slow-reads.worker.ts", import.meta.url), dir, (error) => {
    throw error;
  });
});
afterEach(() => {
  slowReads.stop();
  rmSync(dir, { recursive: true });
});

test("a read ends when there is no store, when there is one, and when another one took its place", async () => {
  await slowReads.prefetch("", "link");
  for (let i = 0; i < 2; i++) {
    using store = new LogStore(currentFolder(dir), 0);
    const link = activeLink("link", 1);
    store.write([toChange(link, encodeLinkRecord(link))], EMPTY_LOG);
    await slowReads.prefetch("", "link");
    await slowReads.prefetch("", "unknown");
    rmSync(currentFolder(dir), { recursive: true });
  }
});

test("more reads than the thread may have waiting fail at once", async () => {
  const reads = Array.from({ length: 513 }, (_, i) => slowReads.prefetch("", `link-${i}`));
  const results = await Promise.allSettled(reads);
  expect(results.filter(({ status }) => status === "rejected")).toHaveLength(1);
  await slowReads.prefetch("", "link");
});
