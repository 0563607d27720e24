/**
 * `bun run test:drills [--links N] [NAME …]`: whatever comes back older than it was, empty or
 * damaged, with a million links: no link that exists is 404 or leads where it led before, nobody
 * has to do anything, and processes say what is wrong. Names choose drills by a part of theirs.
 * Writes `test/results/drills-links.json`. Ends with 1 when a drill failed, and with 2 when none
 * matches.
 */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { admin } from "../harness/admin.ts";
import { eventually } from "../harness/eventually.ts";
import { startRedirector } from "../harness/processes.ts";
import { readWarnings } from "../harness/services.ts";
import { startStack } from "../harness/stack.ts";
import { type Fault, FAULTS, type Hosts } from "./faults.ts";
import { openLinks } from "./links.ts";
import { runMatrix } from "./matrix/main.ts";

const LINKS = 1_000_000;

/** The other host has hardly any link in memory, so that most are read from its store. */
const CACHE_BYTES_MAX = String(2 ** 20);

/** How long everything may take to be right again. */
const RIGHT_MS = 600_000;

/** How long it stays broken at least, so that it is noticed. */
const BROKEN_MS = 5_000;

/** Warnings about links; others are of no concern here. */
const ABOUT_LINKS = /link/;

const [first, ...rest] = process.argv.slice(2);
if (first === "matrix") process.exit((await runMatrix(rest)) ? 0 : 1);
const { values, positionals: names } = parseArgs({
  allowPositionals: true,
  options: { links: { type: "string", default: String(LINKS) } },
});
const chosen = FAULTS.filter(
  (fault) => names.length === 0 || names.some((name) => fault.name.includes(name)),
);
if (chosen.length === 0) {
  console.error(`No drill matches ${names.join(" or ")}.`);
  process.exit(2);
}
await using stack = await startStack({ empty: true });
const links = await openLinks(stack, Number(values.links));
await admin(stack, ["links", "resync"]);

const LINKS_DIR = mkdtempSync(join(stack.dataDir, "links-"));
const start = () => startRedirector(stack, { LINKS_DIR, CACHE_BYTES_MAX });
const hosts: Hosts = {
  stack,
  links,
  other: await start(),
  otherLinks: LINKS_DIR,
  restartOther: async () => (hosts.other = await start()),
};
await expectAllRight();

const rows: Record<string, string | number>[] = [];
let hasFailed = false;
for (const fault of chosen)
  await drill(fault).catch((error: unknown) => {
    hasFailed = true;
    console.error(`${fault.name}:`, error);
  });
await hosts.other.stop();
await links.sql.end();
console.table(rows);
mkdirSync(join(import.meta.dir, "../results"), { recursive: true });
writeFileSync(
  join(import.meta.dir, "../results/drills-links.json"),
  JSON.stringify({ count: Number(values.links), rows }),
);
process.exitCode = hasFailed ? 1 : 0;

async function drill({ name, mayBeUnavailable, inject }: Fault): Promise<void> {
  await links.change();
  await expectAllRight();
  links.settle();
  const watch = links.watch(() => [
    { url: stack.info().short_url, metricsUrl: stack.info().redirector_metrics_url },
    hosts.other,
  ]);
  const startedAt = performance.now();
  await inject(hosts);
  await Bun.sleep(BROKEN_MS);
  await expectAllRight();
  const seconds = (performance.now() - startedAt) / 1_000;
  const { answers, warnings, examples } = await watch.stop();
  const { wrong, notFound, unavailable, undecided } = answers;
  const said = warnings.filter((warning) => ABOUT_LINKS.test(warning));
  const isRight =
    wrong + notFound === 0 &&
    (mayBeUnavailable || unavailable === 0) &&
    (undecided === 0 || said.length > 0);
  rows.push({
    drill: name,
    ...answers,
    "right again after s": Math.round(seconds),
    said: said.join(", "),
    outcome: isRight ? "as promised" : "FAILED",
  });
  console.log(rows.at(-1));
  if (!isRight) throw new Error(examples.join("\n"));
}

/**
 * Waits until both hosts lead everywhere where PostgreSQL says, and nobody warns of anything about
 * links.
 */
async function expectAllRight(): Promise<void> {
  await links.waitUntilRight(stack.info().short_url, RIGHT_MS);
  await links.waitUntilRight(hosts.other.url, RIGHT_MS);
  await eventually(async () => {
    const { api_metrics_url, redirector_metrics_url } = stack.info();
    for (const url of [api_metrics_url, redirector_metrics_url, hosts.other.metricsUrl]) {
      const found = Object.entries(await readWarnings(url));
      const problem = found.find(([warning]) => ABOUT_LINKS.test(warning));
      if (problem !== undefined) throw new Error(`${url}: ${problem.join(": ")}`);
    }
  }, RIGHT_MS);
}
