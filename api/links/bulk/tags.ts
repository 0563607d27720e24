/** Renames and merges tags on all links that have them. */
import type { AccountScope } from "../../http/principal.ts";
import type { Sql } from "../../postgres.ts";
import { replaceTags } from "./sql.ts";

/**
 * Maximum links that one statement changes, and one request. Redirectors do not store tags, so
 * nothing is published.
 */
const BATCH = 1_000;
const CHANGED_MAX = 10_000;

/**
 * Replaces `tags` by `into`, in transactions of {@link BATCH} links. `done` is false when the
 * request has changed {@link CHANGED_MAX} links and more may remain.
 */
export async function mergeTags(
  sql: Sql,
  owner: AccountScope,
  tags: readonly string[],
  into: string,
): Promise<{ changed: number; done: boolean }> {
  const replaced = tags.filter((tag) => tag !== into);
  let changed = 0;
  while (replaced.length > 0 && changed < CHANGED_MAX) {
    const count = await replaceTags(sql, owner, replaced, into, BATCH);
    changed += count;
    if (count < BATCH) return { changed, done: true };
  }
  return { changed, done: replaced.length === 0 };
}
