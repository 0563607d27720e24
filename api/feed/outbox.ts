/**
 * The outbox of link changes: records that a transaction adds to it are published after the
 * commit.
 */
import {
  type LinkMessage,
  type LinkRecord,
  toMessage,
} from "../../shared/contracts/link-record.ts";
import type { Transaction } from "../postgres.ts";
import { insertMessages } from "./sql.ts";

/** A change in the outbox that is not yet published. */
export type OutboxEntry = { message: LinkMessage; outboxId: number };

/**
 * Adds records to the outbox; returns the entries to publish after the commit. Processes that
 * cannot publish them add them as `overdue`: then the relays publish them at their next poll.
 */
export async function addToOutbox(
  transaction: Transaction,
  records: readonly LinkRecord[],
  overdue?: "overdue",
): Promise<OutboxEntry[]> {
  if (records.length === 0) return [];
  const messages = records.map(toMessage);
  const outboxIds = await insertMessages(transaction, messages, overdue !== undefined);
  return messages.map((message, i) => ({ message, outboxId: outboxIds[i] ?? 0 }));
}
