/** Records of links as the feed has them. */
import type { ActiveLink } from "../../shared/contracts/link-record.ts";
import { newUuid } from "../../shared/ids.ts";

/** A plain link of the service's own domain, whose destination names its version. */
export const activeLink = (alias: string, version: number): ActiveLink => ({
  state: "active",
  version,
  domain: "",
  alias,
  link_id: newUuid(),
  account_id: newUuid(),
  mode: "live",
  destination: `https://example.com/${version}`,
  expires_at: null,
  password_hash: null,
  forward_query: false,
});
