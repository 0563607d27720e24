/** Links as the redirectors are told of them. */
import { type ActiveLink, DEFAULT_DOMAIN } from "../../shared/contracts/link-record.ts";
import { destinationOf } from "./destination.ts";
import type { LinkRow } from "./model.ts";
import type { NewLink } from "./sql.ts";

/** The domain of a link as the feed names it. */
export const domainOf = (link: Pick<LinkRow, "domain_host">): string =>
  link.domain_host ?? DEFAULT_DOMAIN;

/** The state of a link, but for its version. */
export const toRecord = (link: NewLink): Omit<ActiveLink, "version"> => ({
  state: "active",
  domain: domainOf(link),
  alias: link.alias,
  link_id: link.id,
  account_id: link.account_id,
  mode: link.mode,
  destination: destinationOf(link.target_url, link),
  expires_at: link.expires_at?.getTime() ?? null,
  password_hash: link.password_hash,
  forward_query: link.forward_query,
});
