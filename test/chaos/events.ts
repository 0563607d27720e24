/**
 * Changes of links beside the faults, each of which has to be one event of the ledger, and each
 * event has to reach a webhook: at least once, under one id, in order for each link.
 */
import * as z from "zod";

import { type ApiResponse, call } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import {
  findMisdelivered,
  type LedgerEvent,
  readLedger,
  startWebhookReceiver,
} from "../harness/webhook-receiver.ts";
import { UnequalError } from "./targets.ts";

/** Links that are changed in turn. */
const LINKS = 10;

/** Quiet time between two changes. */
const PAUSE_MS = 200;

/** A store or the API may be away for as long as a fault takes. */
const REQUEST_TIMEOUT_MS = 60_000;

/** Time until everything is delivered: the lease of a killed worker, and some failed attempts. */
const DELIVERY_TIMEOUT_MS = 180_000;

const idSchema = z.object({ id: z.string() });

export type RecordedChanges = Awaited<ReturnType<typeof startChanges>>;

/**
 * Creates a webhook of all events in the account of a key, and changes links until it is stopped.
 * Nothing else may change the account. `apiUrl` returns the origin of an API process, for each
 * attempt.
 */
export async function startChanges({ key, apiUrl }: { key: string; apiUrl: () => string }) {
  const receiver = startWebhookReceiver();

  /** Sends a request until the API has carried it out. A repetition does nothing twice. */
  const send = (path: string, method: string, body: Record<string, unknown>): Promise<string> => {
    const headers = { "idempotency-key": crypto.randomUUID() };
    return eventually(async () => {
      const options = { method, key, body, ...(method === "POST" ? { headers } : {}) };
      const response: ApiResponse = await call(`${apiUrl()}/v1${path}`, options);
      if (response.status >= 300) throw new Error(`${method} ${path}: ${response.status}`);
      return idSchema.parse(response.body).id;
    }, REQUEST_TIMEOUT_MS);
  };

  await send("/webhooks", "POST", { url: receiver.url, events: ["*"] });
  const before = (await readLedger(apiUrl(), key)).length;
  /** By link, what was done to it, in order. */
  const done = new Map<string, string[]>();
  let stopped = false;

  async function change(): Promise<void> {
    for (let i = 0; !stopped; i++) {
      const [id, changes] = [...done][i % LINKS] ?? [];
      if (id === undefined || changes === undefined)
        done.set(await send("/links", "POST", { url: "https://example.com/" }), ["link.created"]);
      else {
        await send(`/links/${id}`, "PATCH", { title: `change ${i}` });
        changes.push(`link.updated to change ${i}`);
      }
      await Bun.sleep(PAUSE_MS);
    }
  }

  const changing = change();
  // Its error is thrown by `stop`.
  changing.catch(() => undefined);
  return {
    /** Ends the changes. Throws when one could not be made. */
    async stop(): Promise<void> {
      stopped = true;
      await changing;
    },
    /** Throws an {@link UnequalError} unless the ledger has the changes, and all was delivered. */
    async expectDelivered(): Promise<number> {
      const events = (await readLedger(apiUrl(), key)).slice(before);
      const recorded = groupByLink(events);
      for (const [id, changes] of done)
        if (!Bun.deepEquals(recorded.get(id), changes))
          throw new UnequalError(
            `${id} has other events than changes: ${recorded.get(id)?.join(", ")}`,
          );
      const changes = [...done.values()].flat().length;
      if (events.length !== changes)
        throw new UnequalError(`The ledger has ${events.length} events of ${changes} changes.`);
      await eventually(async () => {
        const wrong = findMisdelivered(events, receiver.accepted());
        if (wrong.length > 0) throw new UnequalError(`Webhook: ${wrong.slice(0, 5).join(", ")}`);
      }, DELIVERY_TIMEOUT_MS);
      return events.length;
    },
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  };
}

const updated = z.object({ changes: z.object({ title: z.object({ after: z.string() }) }) });

function groupByLink(events: readonly LedgerEvent[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const { type, data } of events) {
    const id = data.link?.id ?? "no link";
    const what =
      type === "link.updated" ? `${type} to ${updated.parse(data).changes.title.after}` : type;
    groups.set(id, [...(groups.get(id) ?? []), what]);
  }
  return groups;
}
