/** Publishes the states of many links at once, each unless the stream has the same or a later one. */
import { headers, type Msg, type NatsConnection } from "nats";
import * as z from "zod";

import { encodeLinkMessage, type LinkMessage } from "../../shared/contracts/link-record.ts";
import type { LinksStream } from "../../shared/contracts/links-streams.ts";
import {
  decodeLinkMessage,
  linkSubject,
  NO_MESSAGE,
  WRONG_LAST_SEQUENCE,
} from "../../shared/contracts/streams.ts";
import { type PipelineOptions, requestAll } from "./pipeline.ts";

/** Header of a message that is refused unless it follows the one expected. */
const EXPECTED_LAST = "Nats-Expected-Last-Subject-Sequence";

const failure = z.object({ err_code: z.int().optional() }).optional();
const published = z.object({ seq: z.int().optional(), error: failure });
const found = z.object({
  message: z.object({ seq: z.int(), data: z.base64().optional() }).optional(),
  error: failure,
});

export type StatesOutcome = {
  /** The highest sequence number that a message got; 0 when none did. */
  acknowledged: number;
  /** Links that others have published meanwhile. */
  refused: LinkMessage[];
  /** How many others may not be in the stream. */
  failed: number;
};

/** A message, and the sequence number of the last one of its subject: 0 for none, undefined while that is not known. */
type State = { message: LinkMessage; subject: string; last: number | undefined };

type StatesOptions = PipelineOptions & { stream: LinksStream; absent: boolean };

/** Publishes states of links of a stream; with `absent` the stream has none of these, as far as is known. */
export async function publishStates(
  connection: NatsConnection,
  messages: readonly LinkMessage[],
  { absent, ...options }: StatesOptions,
): Promise<StatesOutcome> {
  const states = messages.map((message): State => ({
    message,
    subject: linkSubject(message.domain, message.alias, options.stream),
    last: absent ? 0 : undefined,
  }));
  const outcome: StatesOutcome = { acknowledged: 0, refused: [], failed: 0 };
  const older = absent ? states : await findOlder(connection, states, options, outcome);
  const requests = older.map(({ message, subject, last }) => {
    const expected = headers();
    expected.set(EXPECTED_LAST, String(last));
    return { subject, data: encodeLinkMessage(message), headers: expected };
  });
  const answers = await requestAll(connection, requests, options);
  for (const [i, { message }] of older.entries()) {
    const { seq, error } = read(published, answers[i]) ?? {};
    if (error?.err_code === WRONG_LAST_SEQUENCE) outcome.refused.push(message);
    else if (error !== undefined || !seq) outcome.failed++;
    else outcome.acknowledged = Math.max(outcome.acknowledged, seq);
  }
  return outcome;
}

/** Returns those states of which the stream has an older one or none, with what they follow. */
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
  const answers = await requestAll(connection, requests, options);
  return states.flatMap((state, i): State[] => {
    const { message, error } = read(found, answers[i]) ?? {};
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

/** What an answer says; undefined when there is none, or none that is understood. */
const read = <Schema extends z.ZodType>(
  schema: Schema,
  answer: Msg | undefined,
): z.output<Schema> | undefined =>
  answer === undefined || answer.data.length === 0
    ? undefined
    : schema.safeParse(answer.json()).data;
