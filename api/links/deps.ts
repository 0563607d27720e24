/** Dependencies and results that the operations on links share. */
import type { DomainService } from "../domains/service.ts";
import type { LinkPublisher } from "../feed/link-publisher.ts";
import type { PasswordHashing } from "../passwords/hashing.ts";
import type { Sql } from "../postgres.ts";
import type { DestinationRules } from "./destination-url.ts";
import type { LinkRow } from "./model.ts";

export type LinkServiceDeps = {
  sql: Sql;
  feed: Pick<LinkPublisher, "publish" | "publishMany">;
  domains: Pick<DomainService, "requireVerified" | "isCustom" | "findCustom" | "findHosts">;
  destinationRules: DestinationRules;
  passwords: Pick<PasswordHashing, "hashForLink">;
};

/**
 * A created or updated link. `propagated` is false when the links feed was unreachable: the link is
 * committed, and the outbox relay publishes it later.
 */
export type WriteResult = { link: LinkRow; propagated: boolean };
