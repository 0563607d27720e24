/** The schema of PostgreSQL, step by step. Steps are only ever added: an applied one never changes. */
import type { Migration } from "../../shared/migrations.ts";
import accounts from "./0001_accounts.sql" with { type: "text" };
import authorize from "./0002_authorize.sql" with { type: "text" };
import links from "./0003_links.sql" with { type: "text" };

export const migrations: readonly Migration[] = [
  { id: 1, name: "accounts", text: accounts },
  { id: 2, name: "authorize", text: authorize },
  { id: 3, name: "links", text: links },
];
