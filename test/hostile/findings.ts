/**
 * Checks the responses to inputs, counts them, and collects what is wrong: each kind at each
 * location once, with what replays it.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { createMark, type Input } from "./inputs.ts";
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

/** Kinds of logged errors that are reported. */
const REPORTED_ERRORS_MAX = 20;

export class Findings {
  readonly #found = new Map<string, Finding>();
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

/** Responses to the inputs of a route. */
type Row = {
  route: string;
  sent: number;
  "2xx": number;
  "3xx": number;
  "4xx": number;
  "5xx": number;
  none: number;
  worst: number;
  "slowest ms": number;
};

const classOf = (status: number): "2xx" | "3xx" | "4xx" | "5xx" => {
  if (status >= 500) return "5xx";
  if (status >= 400) return "4xx";
  return status >= 300 ? "3xx" : "2xx";
};

/** Counts results by route. */
export class Tally {
  sent = 0;
  readonly #rows = new Map<string, Row>();

  add({ route, delivery }: Input, { responses, ms, outcome }: Exchange): void {
    this.sent++;
    const name = formatRoute(route);
    const row = this.#rows.get(name) ?? emptyRow(name);
    this.#rows.set(name, row);
    row.sent++;
    if (responses.length === 0) row.none++;
    for (const { status } of responses) {
      row[classOf(status)]++;
      row.worst = Math.max(row.worst, status);
    }
    // Slow deliveries do not measure the server.
    const isMeasured = delivery.kind === "whole" || delivery.kind === "half closed";
    if (outcome === "responded" && isMeasured)
      row["slowest ms"] = Math.max(row["slowest ms"], Math.round(ms));
  }

  rows(): Row[] {
    return [...this.#rows.values()].toSorted((a, b) => a.route.localeCompare(b.route));
  }
}

const emptyRow = (route: string): Row => ({
  route,
  sent: 0,
  "2xx": 0,
  "3xx": 0,
  "4xx": 0,
  "5xx": 0,
  none: 0,
  worst: 0,
  "slowest ms": 0,
});

const SHOWN_BYTES = 200;

export const describeInput = (input: Input): string =>
  `${formatRoute(input.route)} × ${input.generator}, ${input.bytes.length} bytes: ${JSON.stringify(input.bytes.toString("latin1", 0, SHOWN_BYTES))}`;
