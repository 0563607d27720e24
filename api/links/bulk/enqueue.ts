/**
 * The common part of changes to many links in one transaction: alias locks, versions and outbox
 * entries.
 */
import {
  type LinkMessage,
  type LinkRecord,
  toMessage,
} from "../../../shared/contracts/link-record.ts";
import { addToOutbox } from "../../feed/outbox.ts";
import type { Transaction } from "../../postgres.ts";
import { lockAliasesAndDrawVersions } from "./sql.ts";

/** Locks short links, and then draws `count` versions. */
export const drawVersions = async (
  transaction: Transaction,
  shortLinks: readonly { domain: string; alias: string }[],
  count: number,
): Promise<number[]> => {
  const names = shortLinks.map(({ domain, alias }) => `${domain}/${alias}`);
  return await lockAliasesAndDrawVersions(transaction, names, count);
};

/** Adds records to the outbox; returns the entries to publish after the commit. */
export async function enqueue(
  transaction: Transaction,
  records: readonly LinkRecord[],
): Promise<{ message: LinkMessage; outboxId: number }[]> {
  return await addToOutbox(transaction, records.map(toMessage));
}
