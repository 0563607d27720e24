/** Reads the earlier messages that remain in a stream of the links feed. */
import type { NatsConnection } from "nats";
import * as z from "zod";

import type { LinksStream } from "../../shared/contracts/links-streams.ts";
import { linksSubjects, NO_MESSAGE } from "../../shared/contracts/streams.ts";

const TIMEOUT_MS = 5_000;

/** Subjects per call of `onPart`. */
const PART = 500;

/** Parts of the stream that are read concurrently: each message is one request. */
const LANES = 8;

const directGetResponse = z.object({
  message: z.object({ subject: z.string(), seq: z.int() }).optional(),
  error: z.object({ err_code: z.int().optional(), description: z.string().optional() }).optional(),
});

type RemainingSource = { connection: NatsConnection; stream: LinksStream };

/**
 * Reads the subjects of all messages up to a sequence number, and passes them on in parts. The time
 * depends only on the number of remaining messages, because the server skips deleted ones. Returns
 * false as soon as `onPart` does. Throws when the stream cannot be read.
 */
export async function readRemaining(
  source: RemainingSource,
  end: number,
  onPart: (subjects: string[]) => Promise<boolean>,
): Promise<boolean> {
  const size = Math.ceil(end / LANES);
  const lanes = Array.from({ length: LANES }, (_, lane) =>
    readRange(source, lane * size + 1, Math.min(end, (lane + 1) * size), onPart),
  );
  return (await Promise.all(lanes)).every((isRead) => isRead);
}

async function readRange(
  { connection, stream }: RemainingSource,
  first: number,
  last: number,
  onPart: (subjects: string[]) => Promise<boolean>,
): Promise<boolean> {
  let subjects: string[] = [];
  for (let next = first; next <= last;) {
    const request = JSON.stringify({ seq: next, next_by_subj: linksSubjects(stream) });
    const api = `$JS.API.STREAM.MSG.GET.${stream.name}`;
    const response = await connection.request(api, request, { timeout: TIMEOUT_MS });
    const { message, error } = directGetResponse.parse(response.json());
    if (error !== undefined && error.err_code !== NO_MESSAGE)
      throw new Error(`The stream cannot be read: ${error.description}`);
    if (message === undefined || message.seq > last) break;
    subjects.push(message.subject);
    next = message.seq + 1;
    if (subjects.length < PART) continue;
    if (!(await onPart(subjects))) return false;
    subjects = [];
  }
  return subjects.length === 0 || (await onPart(subjects));
}
