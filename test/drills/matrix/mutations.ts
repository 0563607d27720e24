/**
 * Protections of what comes back, each with a cell of the matrix that fails without it: `bun run
 * test:drills matrix --without PROTECTION` removes it from a copy of the project, and passes if the
 * cell then fails for the reason that is named here.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { type Mutation, withMutation } from "../../harness/mutations.ts";
import type { CellResult } from "./run.ts";

type DrillMutation = Mutation & {
  /** What the protection does, in a sentence of the page. */
  does: string;
  /** The name of the cell. */
  cell: string;
  /** Matches one of the problems that the cell must have. */
  problem: RegExp;
};

/** Nothing said what the cell is about. */
const UNNAMED = /^nothing names it/;

/** Links lead elsewhere than they should, on one of the hosts. */
const LINKS = /^links/;

/** Clicks are missing, or stored twice. */
const CLICKS = /^clicks/;

export const MUTATIONS: Readonly<Record<string, DrillMutation>> = {
  gap: {
    does: "A host applies an entry of the links log only on top of the entry before it.",
    cell: "links store: away longer than every retention",
    problem: LINKS,
    file: "shared/links-log/decisions.ts",
    replace: [["entry.previous === head.hash && ", ""]],
  },
  snapshots: {
    does: "A host that lacks entries takes a snapshot.",
    cell: "links store: away longer than every retention",
    problem: LINKS,
    file: "redirector/links/host-log.ts",
    replace: [["if (lacksEntries(this.state) || this.#hasStrayed()) return true;", ""]],
  },
  positions: {
    does: "Positions of the links log never go back, as the clock does.",
    cell: "PostgreSQL: clock an hour behind",
    problem: /^links|wrong/,
    file: "api/migrations/0077_link_log.sql",
    replace: [
      [
        "greatest(head.position + 1, floor(extract(epoch from clock_timestamp()) * 1000000)::bigint)",
        "floor(extract(epoch from clock_timestamp()) * 1000000)::bigint",
      ],
    ],
  },
  "full-database": {
    does: "The API responds with 503 when PostgreSQL has no room.",
    cell: "PostgreSQL: disk full",
    problem: /On a full disk the API answers 500/,
    file: "api/postgres.ts",
    replace: [["  DISK_FULL,\n", ""]],
  },
  republish: {
    does: "Redirectors publish the clicks that they retain again.",
    cell: "NATS: one bit flipped",
    problem: CLICKS,
    file: "redirector/journal/publisher.ts",
    replace: [["if (type === Events.Reconnect) republish();", ""]],
  },
  readability: {
    does: "API processes read back what NATS accepts.",
    cell: "NATS: one bit flipped",
    problem: UNNAMED,
    file: "api/process.ts",
    replace: [["    streams: readability.warning(),\n", ""]],
  },
  history: {
    does: "The first owner reads from the clicks which segments are stored.",
    cell: "ClickHouse: older copy",
    problem: CLICKS,
    file: "worker/batches/clicks-table.ts",
    replace: [
      [
        "for (const { journal_id, first, last } of rows) index.addRange(journal_id, first, last);",
        "",
      ],
    ],
  },
  "restore-order": {
    does: "A restore deletes the workers' consumer, so that all clicks of the stream are delivered again.",
    cell: "ClickHouse: older copy",
    problem: CLICKS,
    file: "test/drills/matrix/clickhouse.ts",
    replace: [["    await deleteConsumer(system);\n", ""]],
  },
  "full-clickhouse": {
    does: "The worker says that ClickHouse has no room.",
    cell: "ClickHouse: disk full",
    problem: UNNAMED,
    file: "worker/consumer/consumer.ts",
    replace: [["if (isDiskFull(error))", "if (isDiskFull(undefined))"]],
  },
  damage: {
    does: "A damaged links store is set aside and filled again.",
    cell: "links store: one bit flipped",
    problem: LINKS,
    file: "redirector/links/store-files.ts",
    replace: [
      [
        "export function isDamage(error: unknown): boolean {\n",
        "export function isDamage(error: unknown): boolean {\n  if (error !== undefined) return false;\n",
      ],
    ],
  },
  "read-only-start": {
    does: "A redirector starts on a disk that it cannot write to.",
    cell: "links store: read-only",
    problem: /^the drill itself/,
    file: "redirector/limits/uses-file.ts",
    replace: [
      [
        "    // With a full disk no clicks of limits are used, and the rest of the process continues.\n    onUnwritable(error);\n",
        "    throw error;\n",
      ],
    ],
  },
  damaged: {
    does: "Of a damaged segment only the damaged click is skipped.",
    cell: "journal: one bit flipped",
    problem: CLICKS,
    file: "shared/contracts/click-segment.ts",
    replace: [["if (record === undefined) break;", "if (record?.isValid !== true) break;"]],
  },
  replay: {
    does: "A redirector publishes what an earlier process left in its journal.",
    cell: "redirector: away longer than every retention",
    problem: CLICKS,
    file: "redirector/journal/journal.ts",
    replace: [
      [
        "const { segments, unknown, unreadable, unchangeable } = recoverSegments(dir);",
        "const { unknown, unreadable, unchangeable } = recoverSegments(dir);",
      ],
      ["for (const segment of segments) {", "for (const segment of new Array<SealedSegment>()) {"],
    ],
  },
  clocks: {
    does: "`doctor` compares the clocks.",
    cell: "worker: clock an hour ahead",
    problem: UNNAMED,
    file: "shared/clock-check.ts",
    replace: [
      [
        "    if (offset <= WARNING_SECONDS) return undefined;\n",
        "    if (offset > -1) return undefined;\n",
      ],
    ],
  },
};

export type MutationOptions = { links: string; hold: string };

/**
 * Runs the cell in a copy of the project without the protection. Returns whether it failed for the
 * expected reason.
 */
export async function runMutation(name: string, options: MutationOptions): Promise<boolean> {
  const mutation = MUTATIONS[name];
  if (mutation === undefined)
    throw new Error(`There is no protection "${name}": ${Object.keys(MUTATIONS).join(", ")}.`);
  const { cell, problem } = mutation;
  const result = await withMutation(mutation, async (copy) => {
    const { links, hold } = options;
    const program = ["test/drills/main.ts", "matrix", "--links", links, "--hold", hold, cell];
    const child = Bun.spawn([process.execPath, ...program], {
      cwd: copy,
      stdio: ["ignore", "inherit", "inherit"],
    });
    await child.exited;
    return readResult(join(copy, "test/results/drills.json"), cell);
  });
  const isExpected = result?.problems.some((text) => problem.test(text)) ?? false;
  console.log(`Without ${name}, ${cell}: ${describe(result, isExpected)}`);
  return isExpected;
}

function readResult(path: string, cell: string): CellResult | undefined {
  if (!existsSync(path)) return undefined;
  const results: CellResult[] = JSON.parse(readFileSync(path, "utf8"));
  return results.find((result) => result.cell === cell);
}

function describe(result: CellResult | undefined, isExpected: boolean): string {
  if (result === undefined) return "could not run, which shows nothing.";
  if (isExpected) return "fails, as expected.";
  if (result.problems.length === 0) return "is as promised: it does not cover the protection.";
  return `fails, but for another reason: ${result.problems.join("; ")}`;
}
