/** Notices of domains in the links feed, with which redirectors learn their settings. */
import { type DomainNotice, domainNotice } from "../../shared/contracts/feed-notices.ts";
import { ENCODED_LINK_BYTES_MAX, encodeLinkMessage } from "../../shared/contracts/link-record.ts";
import { ApiError } from "../http/errors.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { DomainRow } from "./model.ts";
import { toFeedSettings } from "./settings.ts";
import { drawVersion, insertNotice, listNoticedDomains } from "./sql.ts";

export type NoticeEntry = { message: DomainNotice; outboxId: number };

/** Adds the notice of a domain to the outbox. Throws `invalid_request` when it is too large for a message. */
export async function enqueueNotice(
  transaction: Transaction,
  row: DomainRow,
): Promise<NoticeEntry> {
  const message = domainNotice(
    await drawVersion(transaction, row.id),
    row.host,
    toFeedSettings(row),
  );
  const { length } = encodeLinkMessage(message);
  if (length > ENCODED_LINK_BYTES_MAX)
    throw new ApiError(
      "invalid_request",
      `The settings take ${length} bytes together; at most ${ENCODED_LINK_BYTES_MAX} are allowed.`,
    );
  return { message, outboxId: await insertNotice(transaction, message) };
}

/** Adds the notice of a domain that is no more: it has no settings. */
export async function enqueueRemoval(
  transaction: Transaction,
  { id, host }: Pick<DomainRow, "id" | "host">,
): Promise<NoticeEntry> {
  const message = domainNotice(await drawVersion(transaction, id), host, {});
  return { message, outboxId: await insertNotice(transaction, message) };
}

/** Adds the notices of all domains with settings to the outbox again, for a feed that was lost. */
export async function resyncDomainNotices(sql: Sql): Promise<void> {
  for (const row of await listNoticedDomains(sql))
    await sql.begin((transaction) => enqueueNotice(transaction, row));
}
