/**
 * The advisory locks of short links. Every change of a short link holds its lock when it draws the
 * version. So of two successive states, the later one has the higher version.
 */
import type { ShortLink } from "../../shared/contracts/short-link.ts";
import type { Transaction } from "../postgres.ts";
import { lockNamesOf } from "./record.ts";
import { drawVersions } from "./write-sql.ts";

/** Locks short links until the transaction ends, and then draws `count` versions. */
export const lockAliasesAndDrawVersions = async (
  transaction: Transaction,
  shortLinks: readonly ShortLink[],
  count: number,
): Promise<number[]> => await drawVersions(transaction, lockNamesOf(shortLinks), count);
