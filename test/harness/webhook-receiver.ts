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

/** What was sent to a receiver; `id` is that of the event. */
export type Delivered = { id: string; body: string; headers: Record<string, string> };

export class WebhookReceiver {
  /** What it has got, also of what it does not accept. */
  readonly got: Delivered[] = [];
  readonly #server: Bun.Server<undefined>;

  /** Accepts everything, unless it responds by `respond`. */
  constructor(respond: (delivered: Delivered) => Response | Promise<Response> = accept) {
    this.#server = Bun.serve({
      port: 0,
      // Tests reach it at any address of loopback.
      hostname: "0.0.0.0",
      fetch: async (request) => {
        const headers = Object.fromEntries(request.headers);
        const body = await request.text();
        const delivered = { id: headers["webhook-id"] ?? "", body, headers };
        this.got.push(delivered);
        return await respond(delivered);
      },
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/hook`;
  }

  /** Ids of events in the order in which they came, each as often as it did. */
  ids(): string[] {
    return this.got.map(({ id }) => id);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server.stop(true);
  }
}

const accept = (): Response => new Response("thanks");

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
