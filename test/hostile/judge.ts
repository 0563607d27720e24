/** Checks the responses to an input. */
import { createMark, type Input } from "./inputs.ts";
import type { HttpResponse } from "./responses.ts";
import type { Exchange } from "./wire.ts";

type FaultKind = "5xx" | "another request's response" | "invalid HTTP" | "no response";

export type Fault = { kind: FaultKind; what: string };

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

function findForeignMark(input: Input, head: string, position: number): string | undefined {
  // This generator may have changed the mark itself.
  if (input.generator === "mutated") return undefined;
  for (const [mark, index, at] of head.matchAll(MARK)) {
    const own = `hl-${index}-` === createMark(input.index);
    if (!own || (at !== undefined && Number(at) !== position)) return `${mark} at ${position}`;
  }
  return undefined;
}
