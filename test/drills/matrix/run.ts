/** Runs a cell of the matrix on a system of its own, and judges it. */
import { join } from "node:path";

import { withTimeout } from "../../../shared/timeout.ts";
import type { Answers } from "../links.ts";
import { type Cell, nameOf } from "./cell.ts";
import { CLOCKS } from "./clock-cells.ts";
import {
  countClicks,
  type Counted,
  expectHistory,
  expectLinksRight,
  expectNoDuplicates,
  expectWell,
} from "./invariants.ts";
import { startSystem } from "./system.ts";

export type CellResult = {
  cell: string;
  outcome: "as promised" | "FAILED";
  /** What is not as promised, with what was found. */
  problems: string[];
  links: number;
  /** What those who followed links were answered. */
  answers: Answers;
  /** Statuses of counted redirects that were none. */
  statuses: Record<string, number>;
  clicks: Counted | undefined;
  lostClicksMax: number;
  changes: number;
  /** Changes of links that were recorded and delivered, where events are examined. */
  delivered: number | undefined;
  secondsUntilRight: number;
  said: string[];
};

/** Longer than any cell takes on a slow machine. */
const CELL_MS = 600_000;

/** What processes said in the last cell that failed. */
const EVIDENCE = join(import.meta.dir, "../../results/drills-failed.log");

export type RunOptions = { links: number; holdMs: number };

/** Starts a system, runs the cell, and checks every invariant, also when one does not hold. */
export async function runCell(cell: Cell, options: RunOptions): Promise<CellResult> {
  await using system = await startSystem({
    ...options,
    clocks: CLOCKS[cell.condition]?.[cell.subject],
  });
  const problems: string[] = [];
  const check = async <T>(what: string, work: Promise<T>): Promise<T | undefined> => {
    try {
      return await work;
    } catch (error) {
      problems.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  };

  const effect = await check("the drill itself", withTimeout(cell.inject(system), CELL_MS));
  const { lostClicksMax = 0 } = effect ?? {};
  const endedAt = performance.now();
  const changes = await system.changes.stop();
  await check("changes", system.recorded?.stop() ?? Promise.resolve());
  await check("links", expectLinksRight(system));
  const secondsUntilRight = Math.round((performance.now() - endedAt) / 1_000);
  const { answers, examples } = await system.watch.stop();
  await system.clients.stop().catch(() => undefined);
  const statuses = Object.fromEntries(system.clients.failures);
  await check("what is said afterwards", expectWell(system));
  const clicks = await check("clicks", countClicks(system, lostClicksMax));
  await check("clicks counted twice", expectNoDuplicates(system));
  await check("history", expectHistory(system));
  const delivered = await check(
    "events",
    system.recorded?.expectDelivered() ?? Promise.resolve(undefined),
  );
  // Only now: what is said of a click may be said when it is stored.
  const said = await system.listener.stop();
  problems.push(...judge(cell, { answers, examples, statuses, said }));
  if (problems.length > 0) await Bun.write(EVIDENCE, system.stack.output());
  return {
    cell: nameOf(cell),
    outcome: problems.length === 0 ? "as promised" : "FAILED",
    problems,
    links: options.links,
    answers,
    statuses,
    clicks,
    lostClicksMax,
    changes,
    delivered,
    secondsUntilRight,
    said,
  };
}

type Seen = Pick<CellResult, "statuses" | "said"> & { answers: Answers; examples: string[] };

/** What was seen meanwhile, and should not have been. */
function judge(cell: Cell, { answers, examples, statuses, said }: Seen): string[] {
  const problems: string[] = [];
  const { wrong, notFound, unavailable, undecided } = answers;
  if (wrong + notFound > 0)
    problems.push(`${wrong} wrong and ${notFound} missing links: ${examples.join("; ")}`);
  if (cell.mayBeUnavailable !== true) {
    if (unavailable > 0) problems.push(`${unavailable} links were unavailable`);
    if (undecided > 0 && said.length === 0)
      problems.push(`${undecided} aliases without a link got 503, and nothing said why`);
    const failed = Object.keys(statuses);
    if (failed.length > 0) problems.push(`redirects failed: ${JSON.stringify(statuses)}`);
  }
  if (cell.named !== undefined && !said.some((line) => cell.named?.test(line)))
    problems.push(`nothing names it (${cell.named.source})`);
  return problems;
}
