/** Domains as accounts have them. */
import { OwnedRows } from "../owned-rows.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { DomainRow } from "./model.ts";

export const domainColumns = (sql: Sql | Transaction) => sql`
  id, account_id, host, verification_value, created_at, verified_at, case_sensitive, switching, settings,
  missing_since`;

/** No link is created on a domain that is locked until the transaction ends. */
export const domainRows = new OwnedRows<DomainRow>("domains", domainColumns);
