/** The dependencies that the operations on links share. */
import type { DomainService } from "../domains/service.ts";
import type { LinkPublisher } from "../feed/link-publisher.ts";
import type { Sql } from "../postgres.ts";
import type { DestinationRules } from "./destination-url.ts";
import type { LinkPasswords } from "./passwords.ts";

/** What a change of links needs. */
export type ChangeDeps = Pick<LinkServiceDeps, "sql" | "feed" | "destinationRules">;

export type LinkServiceDeps = {
  sql: Sql;
  feed: Pick<LinkPublisher, "publish">;
  domains: Pick<DomainService, "requireVerified" | "findCustom" | "findHosts">;
  destinationRules: DestinationRules;
  passwords: LinkPasswords;
};
