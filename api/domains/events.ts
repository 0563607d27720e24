/** What the ledger of events says about domains. */
import type { changesBetween } from "../events/changes.ts";
import { type NewEvent, toJson } from "../events/record.ts";
import { type DomainRow, toDomainResponse } from "./model.ts";

/**
 * A domain without its DNS records: the proof, and where it leads to, which the command line does
 * not know.
 */
export function domainFields(row: DomainRow) {
  const {
    verification: _,
    routing: __,
    ...domain
  } = toDomainResponse(row, "https://unknown.invalid");
  return domain;
}

export const domainEvent = (
  type:
    "domain.created" | "domain.verified" | "domain.updated" | "domain.displaced" | "domain.deleted",
  row: DomainRow,
  changes?: ReturnType<typeof changesBetween>,
): NewEvent => ({
  type,
  objectId: row.id,
  data: toJson({ domain: domainFields(row), ...(changes === undefined ? {} : { changes }) }),
});
