/**
 * The outbox of link changes: messages that a transaction adds to it are published after the
 * commit.
 */
import type { LinkMessage } from "../../shared/contracts/link-record.ts";
import type { Transaction } from "../postgres.ts";
import { insertMessages } from "./sql.ts";

/** Adds messages to the outbox; returns the entries to publish after the commit. */
export async function addToOutbox<Message extends LinkMessage>(
  transaction: Transaction,
  messages: readonly Message[],
): Promise<{ message: Message; outboxId: number }[]> {
  const outboxIds = await insertMessages(transaction, messages);
  return messages.map((message, i) => ({ message, outboxId: outboxIds[i] ?? 0 }));
}
