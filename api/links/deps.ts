/** The dependencies that the operations on links share. */
import type { DomainService } from "../domains/service.ts";
import type { LinksPublisher } from "../links-log/publisher.ts";
import type { Sql } from "../postgres.ts";
import type { DestinationRules } from "./destination-url.ts";
import type { LinkPasswords } from "./passwords.ts";

/** What a change of links needs. */
export type ChangeDeps = Pick<LinkServiceDeps, "sql" | "publisher" | "destinationRules">;

export type LinkServiceDeps = {
  sql: Sql;
  publisher: LinksPublisher;
  domains: Pick<DomainService, "requireVerified" | "findCustom" | "findHosts">;
  destinationRules: DestinationRules;
  passwords: LinkPasswords;
};
