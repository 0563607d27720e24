/** The table of the cost guard: the input of each route that cost most. */
import type { CostRow } from "./guard.ts";

type Row = Record<string, string | number>;

const tenth = (ms: number): number => Math.round(ms * 10) / 10;

export const formatRow = ({
  target,
  process,
  status,
  samples,
  turnMs,
  parts,
  fault,
}: CostRow): Row => ({
  route: target,
  process,
  "worst turn, ms at most": tenth(turnMs),
  "CPU at 1/4, 1/2, 1, ms": samples.map(({ cpuMs }) => tenth(cpuMs)).join(" "),
  bytes: samples[2].bytes,
  status,
  input: parts,
  fault: fault ?? "",
});

/** The most expensive row of each route and process, in the order of their cost. */
export function listWorst(rows: readonly CostRow[]): Row[] {
  const worst = new Map<string, CostRow>();
  for (const row of rows) {
    const key = `${row.target} ${row.process}`;
    const known = worst.get(key);
    if (known === undefined || row.turnMs > known.turnMs) worst.set(key, row);
  }
  return [...worst.values()].toSorted((a, b) => b.turnMs - a.turnMs).map(formatRow);
}

/**
 * How many of a route's inputs it accepted: those that it rejects early cost nothing, and say
 * nothing.
 */
export const countAccepted = (rows: readonly CostRow[]): Row[] =>
  [...Map.groupBy(rows, ({ target }) => target)].map(([route, own]) => ({
    route,
    inputs: own.length,
    accepted: own.filter(({ status }) => status > 0 && status < 400).length,
  }));

/** The routes of which a limit refused every input, so that none was measured. */
export const listUnmeasured = (rows: readonly Pick<CostRow, "target" | "status">[]): string[] =>
  [...Map.groupBy(rows, ({ target }) => target)]
    .filter(([, own]) => own.every(({ status }) => status === 429))
    .map(([route]) => route);
