/** Rows of links, as PostgreSQL returns them. */
import { type LinkRow, toTextColumns } from "../../api/links/model.ts";
import { newUuid } from "../../shared/ids.ts";

/** A link without settings. */
export const linkRow = (change: Partial<LinkRow> = {}): LinkRow => ({
  id: newUuid(),
  account_id: newUuid(),
  mode: "live",
  domain_id: null,
  domain_host: null,
  alias: "x",
  original_url: "https://example.com/",
  target_url: "https://example.com/",
  ...toTextColumns({}),
  created_by: null,
  password_hash: null,
  expires_at: null,
  forward_query: false,
  tags: [],
  extras: null,
  archived: false,
  taken_down: false,
  folded: false,
  served: true,
  version: 1,
  created_at: new Date(0),
  updated_at: new Date(0),
  clicks: 0,
  unique_clicks: 0,
  last_click_at: null,
  ...change,
});
