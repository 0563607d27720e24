/** SQL statements on notices of domains. */
import type { Uuid } from "../../shared/ids.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { DomainRow } from "./model.ts";
import { COLUMNS } from "./sql.ts";

/** Draws a version for the notice of a domain. */
export async function drawVersion(transaction: Transaction, id: Uuid): Promise<number> {
  const [row] = await transaction<[{ version: string }]>`
    with drawn as (select next_link_version() as version)
    , noted as (update domains set version = drawn.version from drawn where id = ${id})
    select version from drawn`;
  return Number(row.version);
}

/** Selects the next verified domains that have a published notice, and its version, in id order. */
export const selectNoticedDomains = async (
  sql: Sql,
  after: Uuid | null,
  limit: number,
): Promise<(DomainRow & { notice_version: number })[]> =>
  await sql<(DomainRow & { notice_version: number })[]>`
    select ${sql(COLUMNS)}, version::float8 as notice_version from domains
     where version > 0 and verified_at is not null and (${after}::uuid is null or id > ${after})
     order by id limit ${limit}`;
