/** Records changes of the tags of many links. */
import type { Uuid } from "../../shared/ids.ts";
import { recordEvents } from "../events/record.ts";
import type { Author } from "../http/principal.ts";
import type { Transaction } from "../postgres.ts";
import { changeEvent } from "./events.ts";
import { findLinksInOrder } from "./sql.ts";

/** Records that links had other tags `before`; the transaction has changed them. */
export async function recordTagChanges(
  transaction: Transaction,
  author: Author,
  changed: readonly { id: Uuid; before: string[] }[],
  shortUrl: string,
): Promise<void> {
  if (changed.length === 0) return;
  const before = new Map(changed.map((link) => [link.id, link.before]));
  const links = await findLinksInOrder(transaction, [...before.keys()]);
  const events = links.map((link) =>
    changeEvent({ ...link, tags: before.get(link.id) ?? [] }, link, shortUrl),
  );
  await recordEvents(transaction, author, events);
}
