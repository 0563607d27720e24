/** A receiver of webhooks on loopback, and whether it got what the ledger has. */
import * as z from "zod";

import { call } from "./api.ts";

const eventSchema = z.looseObject({
  id: z.string(),
  type: z.string(),
  data: z.looseObject({ link: z.looseObject({ id: z.string() }).optional() }),
});

export type LedgerEvent = z.output<typeof eventSchema>;

const pageSchema = z.object({
  data: z.array(eventSchema),
  has_more: z.boolean(),
  next_cursor: z.string(),
});

/** Starts a receiver that accepts everything, after a while. */
export function startWebhookReceiver(delayMs = 0) {
  const accepted: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { id } = eventSchema.parse(await request.json());
      if (request.headers.get("webhook-id") !== id) return new Response("", { status: 400 });
      await Bun.sleep(delayMs);
      accepted.push(id);
      return new Response(null, { status: 204 });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/`,
    /** Ids of events in the order in which they were accepted, each as often as it was. */
    accepted: (): readonly string[] => accepted,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

/** Reads the whole ledger of an account. */
export async function readLedger(apiUrl: string, key: string): Promise<LedgerEvent[]> {
  const events: LedgerEvent[] = [];
  for (let query = "limit=100"; ;) {
    const { status, body } = await call(`${apiUrl}/v1/events?${query}`, { key });
    if (status !== 200) throw new Error(`The ledger cannot be read: ${status}`);
    const page = pageSchema.parse(body);
    events.push(...page.data);
    if (!page.has_more) return events;
    query = `limit=100&starting_after=${page.next_cursor}`;
  }
}

/**
 * What is wrong with what was accepted of these events: which are missing, which are not of the
 * ledger, and which came before an earlier one about the same link. Repetitions do not count.
 */
export function findMisdelivered(
  events: readonly LedgerEvent[],
  accepted: readonly string[],
): string[] {
  const arrived = new Set(accepted);
  const byId = new Map(events.map((event) => [event.id, event]));
  const missing = events.filter(({ id }) => !arrived.has(id)).map(({ id }) => `missing: ${id}`);
  const unknown = [...arrived].filter((id) => !byId.has(id)).map((id) => `unknown: ${id}`);
  const places = new Map(events.map(({ id }, place) => [id, place]));
  const last = new Map<string, number>();
  const disordered: string[] = [];
  for (const id of arrived) {
    const link = byId.get(id)?.data.link?.id;
    const place = places.get(id);
    if (link === undefined || place === undefined) continue;
    if (place < (last.get(link) ?? -1)) disordered.push(`late: ${id}`);
    else last.set(link, place);
  }
  return [...missing, ...unknown, ...disordered];
}
