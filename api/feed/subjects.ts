/** Lists the subjects of the stream `LINKS`, of which each short link has one. */
import type { NatsConnection } from "nats";
import * as z from "zod";

import { LINKS_STREAM } from "../../shared/contracts/streams.ts";

/** The server sorts all subjects for each page. */
const TIMEOUT_MS = 30_000;

const pageSchema = z.object({
  error: z.object({ description: z.string() }).optional(),
  state: z.object({ subjects: z.record(z.string(), z.number()).optional() }).optional(),
});

/**
 * Lists all subjects in pages of up to 100,000, as the server makes them. A subject that is added meanwhile may be listed
 * twice or not at all; none is left out that was there before. Throws when the stream cannot be read.
 */
export async function* listSubjects(connection: NatsConnection): AsyncGenerator<string[]> {
  for (let offset = 0; ;) {
    const request = JSON.stringify({ subjects_filter: "links.>", offset });
    const api = `$JS.API.STREAM.INFO.${LINKS_STREAM}`;
    const response = await connection.request(api, request, { timeout: TIMEOUT_MS });
    const { error, state } = pageSchema.parse(response.json());
    if (error !== undefined) throw new Error(`The subjects cannot be listed: ${error.description}`);
    const subjects = Object.keys(state?.subjects ?? {});
    if (subjects.length === 0) return;
    yield subjects;
    offset += subjects.length;
  }
}
