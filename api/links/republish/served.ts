/** Reads all links that redirect, as redirectors know them. */
import { type ActiveLink, DEFAULT_DOMAIN } from "../../../shared/contracts/link-record.ts";
import type { Uuid } from "../../../shared/ids.ts";
import type { Sql } from "../../postgres.ts";
import { toRecord } from "../record.ts";
import { findServedDomains, findServedLinksOf } from "./sql.ts";

/** Links that are read at once, which takes a few milliseconds. */
const BATCH = 200;

/** The records of all links in batches: by domain, and in the order of their aliases. */
export async function* readServedLinks(sql: Sql): AsyncGenerator<ActiveLink[]> {
  const own = { id: null, host: DEFAULT_DOMAIN };
  for (const { id } of [own, ...(await findServedDomains(sql))]) yield* readDomain(sql, id);
}

async function* readDomain(sql: Sql, id: Uuid | null): AsyncGenerator<ActiveLink[]> {
  for (let after = ""; ;) {
    const rows = await findServedLinksOf(sql, id, after, BATCH);
    if (rows.length > 0) yield rows.map(toRecord);
    after = rows.at(-1)?.alias ?? "";
    if (rows.length < BATCH) return;
  }
}
