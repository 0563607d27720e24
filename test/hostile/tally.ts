/** Counts results by route and generator. */
import type { GeneratorName, Input } from "./inputs.ts";
import { formatRoute } from "./routes.ts";
import type { Exchange } from "./wire.ts";

type Cell = { sent: number; worst: number };

type Row = {
  cells: Map<GeneratorName, Cell>;
  classes: Record<"2xx" | "3xx" | "4xx" | "5xx" | "none", number>;
  sent: number;
  worst: number;
  slowestMs: number;
};

const classOf = (status: number): keyof Row["classes"] => {
  if (status >= 500) return "5xx";
  if (status >= 400) return "4xx";
  return status >= 300 ? "3xx" : "2xx";
};

export class Tally {
  sent = 0;
  readonly #rows = new Map<string, Row>();
  readonly #generators: readonly GeneratorName[];

  constructor(generators: readonly GeneratorName[]) {
    this.#generators = generators;
  }

  add(input: Input, { responses, ms, outcome }: Exchange): void {
    this.sent++;
    const row = this.#rows.get(formatRoute(input.route)) ?? emptyRow();
    this.#rows.set(formatRoute(input.route), row);
    const cell = row.cells.get(input.generator) ?? { sent: 0, worst: 0 };
    row.cells.set(input.generator, cell);
    row.sent++;
    cell.sent++;
    if (responses.length === 0) row.classes.none++;
    for (const { status } of responses) {
      row.classes[classOf(status)]++;
      row.worst = Math.max(row.worst, status);
      cell.worst = Math.max(cell.worst, status);
    }
    // Slow deliveries do not measure the server.
    if (
      outcome === "responded" &&
      (input.delivery.kind === "whole" || input.delivery.kind === "half closed")
    )
      row.slowestMs = Math.max(row.slowestMs, Math.round(ms));
  }

  /** One row per route; under each generator the number of inputs and the worst status. */
  rows(): Record<string, string | number>[] {
    return [...this.#rows]
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([route, { sent, classes, worst, slowestMs, cells }]) => ({
        route,
        sent,
        ...classes,
        worst,
        "slowest ms": slowestMs,
        ...Object.fromEntries(
          this.#generators.map((name) => {
            const cell = cells.get(name) ?? { sent: 0, worst: 0 };
            return [name, `${cell.sent} ${cell.worst === 0 ? "-" : cell.worst}`];
          }),
        ),
      }));
  }
}

const emptyRow = (): Row => ({
  cells: new Map(),
  classes: { "2xx": 0, "3xx": 0, "4xx": 0, "5xx": 0, none: 0 },
  sent: 0,
  worst: 0,
  slowestMs: 0,
});
