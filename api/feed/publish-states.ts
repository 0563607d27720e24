/**
 * Publishes the states of many links at once, except those of which the stream has the same or a
 * later version.
 */
import { headers, type Msg, type NatsConnection } from "nats";
import * as z from "zod";

import { encodeLinkMessage, type LinkMessage } from "../../shared/contracts/link-record.ts";
import type { LinksStream } from "../../shared/contracts/links-streams.ts";
import {
  decodeLinkMessage,
  linkSubject,
  NO_MESSAGE,
  PULL_BYTES_MAX,
  READS_AT_ONCE,
  WRONG_LAST_SEQUENCE,
} from "../../shared/contracts/streams.ts";
import { type PipelineOptions, requestAll } from "./pipeline.ts";

/**
 * Header with the expected last sequence of a message's subject; the server rejects a message that
 * does not match.
 */
const EXPECTED_LAST = "Nats-Expected-Last-Subject-Sequence";

const failure = z.object({ err_code: z.int().optional() }).optional();
const published = z.object({ seq: z.int().optional(), error: failure });
const found = z.object({
  message: z.object({ seq: z.int(), data: z.base64().optional() }).optional(),
  error: failure,
});

export type StatesOutcome = {
  /** The highest sequence number that a message received; 0 for none. */
  acknowledged: number;
  /** Links for which another publisher was faster. */
  conflicts: LinkMessage[];
  /** Number of other messages that may not be in the stream. */
  failed: number;
};

/**
 * A message, and the sequence number of its subject's last message: 0 for none, undefined if
 * unknown.
 */
type State = { message: LinkMessage; subject: string; last: number | undefined };

type StatesOptions = PipelineOptions & { stream: LinksStream; absent: boolean };

/**
 * Publishes link states of a stream; `absent` means that the stream probably has none of these
 * links.
 */
export async function publishStates(
  connection: NatsConnection,
  messages: readonly LinkMessage[],
  { absent, ...options }: StatesOptions,
): Promise<StatesOutcome> {
  const states = messages.map((message): State => ({
    message,
    subject: linkSubject(message, options.stream),
    last: absent ? 0 : undefined,
  }));
  const outcome: StatesOutcome = { acknowledged: 0, conflicts: [], failed: 0 };
  const older = absent ? states : await findOlder(connection, states, options, outcome);
  const requests = older.map(({ message, subject, last }) => {
    const expected = headers();
    expected.set(EXPECTED_LAST, String(last));
    return { subject, data: encodeLinkMessage(message), headers: expected };
  });
  const responses: (Msg | undefined)[] = [];
  // What requests publish meanwhile waits for no more than a part.
  for (const part of splitByBytes(requests))
    responses.push(...(await requestAll(connection, part, options)));
  for (const [i, { message }] of older.entries()) {
    const { seq, error } = read(published, responses[i]) ?? {};
    if (error?.err_code === WRONG_LAST_SEQUENCE) outcome.conflicts.push(message);
    else if (error !== undefined || !seq) outcome.failed++;
    else outcome.acknowledged = Math.max(outcome.acknowledged, seq);
  }
  return outcome;
}

/**
 * Returns the states that are newer than the stream's, with the sequence number of their subject's
 * last message.
 */
async function findOlder(
  connection: NatsConnection,
  states: readonly State[],
  { stream, ...options }: Omit<StatesOptions, "absent">,
  outcome: StatesOutcome,
): Promise<State[]> {
  const requests = states.map(({ subject }) => ({
    subject: `$JS.API.STREAM.MSG.GET.${stream.name}`,
    data: JSON.stringify({ last_by_subj: subject }),
  }));
  const responses: (Msg | undefined)[] = [];
  // A response has the whole message.
  for (let start = 0; start < requests.length; start += READS_AT_ONCE) {
    const part = requests.slice(start, start + READS_AT_ONCE);
    responses.push(...(await requestAll(connection, part, options)));
  }
  return states.flatMap((state, i): State[] => {
    const { message, error } = read(found, responses[i]) ?? {};
    if (error?.err_code === NO_MESSAGE) return [{ ...state, last: 0 }];
    if (message === undefined) {
      outcome.failed++;
      return [];
    }
    // A malformed message is replaced like an older version.
    const data = Buffer.from(message.data ?? "", "base64");
    const version = decodeLinkMessage(state.subject, data)?.version ?? -1;
    return version >= state.message.version ? [] : [{ ...state, last: message.seq }];
  });
}

/** Splits requests, in order, into parts of {@link PULL_BYTES_MAX} at most. */
function splitByBytes<Request extends { data: Uint8Array }>(
  requests: readonly Request[],
): Request[][] {
  const parts: Request[][] = [];
  let room = 0;
  for (const request of requests) {
    room -= request.data.length;
    if (room < 0) {
      parts.push([]);
      room = PULL_BYTES_MAX - request.data.length;
    }
    parts.at(-1)?.push(request);
  }
  return parts;
}

/** Decodes a response; undefined when there is none or it is invalid. */
const read = <Schema extends z.ZodType>(
  schema: Schema,
  response: Msg | undefined,
): z.output<Schema> | undefined =>
  response === undefined || response.data.length === 0
    ? undefined
    : schema.safeParse(response.json()).data;
