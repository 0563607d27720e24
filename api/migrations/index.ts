/** The schema of PostgreSQL, step by step. Steps are only ever added: an applied one never changes. */
import type { Migration } from "../../shared/migrations.ts";
import accounts from "./0001_accounts.sql" with { type: "text" };
import authorize from "./0002_authorize.sql" with { type: "text" };
import links from "./0003_links.sql" with { type: "text" };
import linksComplete from "./0004_links_complete.sql" with { type: "text" };
import linksSearch from "./0005_links_search.sql" with { type: "text" };
import members from "./0006_members.sql" with { type: "text" };
import quotas from "./0007_quotas.sql" with { type: "text" };
import activeKeys from "./0008_active_keys.sql" with { type: "text" };

/** A step whose statements run one by one, for those that PostgreSQL refuses in a transaction. */
export type PostgresMigration = Migration & { concurrent?: true };

export const migrations: readonly PostgresMigration[] = [
  { id: 1, name: "accounts", text: accounts },
  { id: 2, name: "authorize", text: authorize },
  { id: 3, name: "links", text: links },
  { id: 4, name: "links_complete", text: linksComplete },
  { id: 5, name: "links_search", text: linksSearch, concurrent: true },
  { id: 6, name: "members", text: members },
  { id: 7, name: "quotas", text: quotas },
  { id: 8, name: "active_keys", text: activeKeys, concurrent: true },
];
