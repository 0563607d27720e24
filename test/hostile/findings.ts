/**
 * Checks the responses to inputs, counts them, and collects what is wrong: each kind at each
 * location once, with the bytes to reproduce it.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { PROJECT_DIR } from "../harness/stack.ts";
import { createMark, type GeneratorName, type Input } from "./inputs.ts";
import type { HttpResponse } from "./responses.ts";
import { formatRoute } from "./routes.ts";
import type { Exchange } from "./wire.ts";

export type Finding = {
  kind: string;
  /** Route and generator, or the affected process. */
  where: string;
  what: string;
  /** Occurrences of this kind at this location. */
  count: number;
  /** The first input that caused it, to replay it. */
  index?: number;
};

/** Number and size of the saved input files. */
const SAVED_MAX = 40;
const SAVED_BYTES_MAX = 256 * 1024;

/** Kinds of logged errors that are reported. */
const REPORTED_ERRORS_MAX = 20;

export class Findings {
  readonly #dir = join(PROJECT_DIR, ".local", "hostile");
  readonly #found = new Map<string, Finding>();
  readonly #saved = new Set<number>();
  readonly #seed: number;
  readonly #log: (line: string) => void;

  constructor(seed: number, log: (line: string) => void) {
    this.#seed = seed;
    this.#log = log;
  }

  add(finding: Omit<Finding, "count">): void {
    const id = `${finding.kind} ${finding.where}`;
    const known = this.#found.get(id);
    if (known !== undefined) {
      known.count++;
      return;
    }
    this.#found.set(id, { ...finding, count: 1 });
    const replay =
      finding.index === undefined ? "" : ` (--seed ${this.#seed} -- --only ${finding.index})`;
    this.#log(`${finding.kind}: ${finding.where}: ${finding.what}${replay}`);
  }

  save({ index, bytes }: Input): void {
    if (this.#saved.size >= SAVED_MAX || this.#saved.has(index)) return;
    this.#saved.add(index);
    mkdirSync(this.#dir, { recursive: true });
    const path = join(this.#dir, `${this.#seed}-${index}.bin`);
    writeFileSync(path, bytes.subarray(0, SAVED_BYTES_MAX));
  }

  all(): Finding[] {
    return [...this.#found.values()];
  }
}

const REPORTED = /"level":"(?:error|fatal)"|"event":"request_failed"/;

/**
 * Returns logged errors and failed requests of all processes; lines that differ only in ids and
 * times count as one.
 */
export function readLoggedErrors(dataDir: string): string[] {
  const kinds = new Map<string, string>();
  for (const name of ["api", "redirector", "worker", "clickhouse"]) {
    const path = join(dataDir, "logs", `${name}.log`);
    if (!existsSync(path)) continue;
    for (const line of readFileSync(path, "utf8").split("\n")) {
      if (!REPORTED.test(line)) continue;
      const kind = name + (/"(?:message|error)":"[^"]{0,60}/.exec(line)?.[0] ?? line.slice(0, 80));
      if (!kinds.has(kind) && kinds.size < REPORTED_ERRORS_MAX)
        kinds.set(kind, line.slice(0, 1_200));
    }
  }
  return [...kinds.values()];
}

type FaultKind =
  | "5xx"
  | "another request's response"
  | "invalid HTTP"
  | "no response"
  | "parsed though nested too deeply";

type Fault = { kind: FaultKind; what: string };

/** Statuses of an HTTP parser for what it does not support: RFC 9110 §15.6.2 and §15.6.6. */
const UNSUPPORTED_STATUSES = new Set([501, 505]);

/** A mark as created by `markOf`, with the position in a pipeline. */
const MARK = /hl-(\d+)-(?:(\d+)-e)?/g;

export function findFault(
  input: Input,
  { responses, error, outcome }: Exchange,
): Fault | undefined {
  if (error !== undefined) return { kind: "invalid HTTP", what: error };
  for (const [position, response] of responses.entries()) {
    if (isUnexplainedFailure(input, response))
      return { kind: "5xx", what: `${response.status} ${response.body.slice(0, 300)}` };
    if (isParsedTooDeep(input, response))
      return { kind: "parsed though nested too deeply", what: response.body.slice(0, 300) };
    const foreignMark = findForeignMark(input, response.head, position);
    if (foreignMark !== undefined) return { kind: "another request's response", what: foreignMark };
  }
  // A server may close a connection whose framing it cannot trust, but must respond to a complete
  // request.
  if (
    input.complete &&
    outcome === "gave up" &&
    !responses.some(({ complete }) => complete || isStream(input))
  )
    return { kind: "no response", what: "to a complete request" };
  return undefined;
}

const isStream = ({ route }: Input): boolean => route.path.endsWith("/stream");

/** Whether the response is a server error without an explanation. */
function isUnexplainedFailure({ route }: Input, { status, head, body }: HttpResponse): boolean {
  if (status < 500 || UNSUPPORTED_STATUSES.has(status)) return false;
  // ClickHouse's interface uses 500 for most errors, with an error code in the body.
  if (route.surface === "clickhouse" && /^Code: \d+\. DB::/.test(body)) return false;
  if (status !== 503) return true;
  const hasReason = /"(?:code|parts)":/.test(body) || /\r\nretry-after:/i.test(head);
  return body === "" || !hasReason;
}

/**
 * Whether the API has validated a body that is nested deeper than it may be, instead of refusing to
 * parse it. Where the value is in the query, a name there is nested.
 */
const isParsedTooDeep = ({ generator, route, bytes }: Input, { body }: HttpResponse): boolean =>
  generator === "nested" &&
  route.body !== undefined &&
  !bytes.includes("[b]") &&
  body.includes('"code":"invalid_request"') &&
  !body.includes("nested too deeply");

function findForeignMark(input: Input, head: string, position: number): string | undefined {
  // This generator may have changed the mark itself.
  if (input.generator === "mutated") return undefined;
  for (const [mark, index, at] of head.matchAll(MARK)) {
    const own = `hl-${index}-` === createMark(input.index);
    if (!own || (at !== undefined && Number(at) !== position)) return `${mark} at ${position}`;
  }
  return undefined;
}

/** Counts results by route and generator. */
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

const SHOWN_BYTES = 200;

export const describeInput = (input: Input): string =>
  `${formatRoute(input.route)} × ${input.generator}, ${input.bytes.length} bytes: ${JSON.stringify(input.bytes.toString("latin1", 0, SHOWN_BYTES))}`;
