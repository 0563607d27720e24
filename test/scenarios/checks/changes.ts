/** Checks of what the API acknowledged: links, their newest targets, events and deliveries. */
import * as z from "zod";

import { eventually } from "../../harness/eventually.ts";
import { findMisdelivered, type LedgerEvent, readLedger } from "../../harness/webhook-receiver.ts";
import { type LinkChanges, versionOf } from "../loads/link-changes.ts";
import type { Redirects } from "../loads/redirects.ts";
import type { Topology } from "../topologies/topology.ts";

/** Time until everything is delivered: the lease of a killed worker, and some failed attempts. */
const DELIVERY_TIMEOUT_MS = 180_000;

/** A change that a redirector has missed does not come later. */
const CONVERGENCE_MS = 2_000;

const EXAMPLES_MAX = 5;

/**
 * The ledger has each change once, in order for each link, and the webhook has got each event.
 * Returns how many there are.
 */
export async function expectLedgerComplete(
  topology: Topology,
  changes: LinkChanges,
): Promise<number> {
  const ledger = await readLedger(topology.apis()[0] ?? "", changes.key);
  const events = ledger.slice(changes.eventsBefore);
  const recorded = groupByLink(events);
  let count = 0;
  for (const [id, { events: expected }] of changes.links) {
    const found = recorded.get(id) ?? [];
    if (!Bun.deepEquals(found, expected))
      throw new Error(`${id} has other events than changes: ${found.join(", ")}`);
    count += expected.length;
  }
  if (events.length !== count)
    throw new Error(`The ledger has ${events.length} events of ${count} changes.`);
  await eventually(async () => {
    const wrong = findMisdelivered(events, changes.accepted());
    if (wrong.length > 0) throw new Error(`Webhook: ${wrong.slice(0, EXAMPLES_MAX).join(", ")}`);
  }, DELIVERY_TIMEOUT_MS);
  return count;
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

/**
 * Every redirector has each link that was created, and leads to the last target that was
 * acknowledged as published, or a later one.
 */
export async function expectNewestTargets(
  topology: Topology,
  redirects: Redirects,
  { links, failures }: LinkChanges,
): Promise<void> {
  const wrong: string[] = [...failures];
  for (const base of topology.redirectors())
    for (const [id, { alias, publishedAt }] of links) {
      const last = Math.max(0, ...publishedAt.keys());
      await eventually(async () => {
        const answer = await redirects.follow(base, { id, alias });
        const version = versionOf(answer?.location ?? "");
        if (answer?.status !== 302 || version < last)
          throw new Error(`${base}/${alias}: ${answer?.status}, ${version} instead of ${last}`);
      }, CONVERGENCE_MS).catch((error: unknown) => void wrong.push(String(error)));
    }
  if (wrong.length > 0) throw new Error(wrong.slice(0, EXAMPLES_MAX).join("; "));
}
