/** Maps links to the records of the links feed, which the redirectors read. */
import { DEFAULT_DOMAIN } from "../../shared/contracts/link-record.ts";
import type { LinkRow } from "./model.ts";
import type { NewLink, RecordDraft } from "./sql.ts";
import { applyUtm } from "./utm.ts";

/** The domain of a link as the feed names it. */
export const feedDomain = (link: Pick<LinkRow, "domain_host">): string =>
  link.domain_host ?? DEFAULT_DOMAIN;

/** The feed record of a link, without its version. */
export const toRecord = (link: NewLink): RecordDraft => ({
  state: "active",
  domain: feedDomain(link),
  alias: link.alias,
  link_id: link.id,
  account_id: link.account_id,
  mode: link.mode,
  destination: applyUtm(link.target_url, link),
  expires_at: link.expires_at?.getTime() ?? null,
  password_hash: link.password_hash,
  forward_query: link.forward_query,
});
