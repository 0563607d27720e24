/** Links as the API returns them. */
import type { FullLink } from "../../clients/typescript/src/index.ts";

/** A link without settings. */
export const fullLink = (change: Partial<FullLink> = {}): FullLink => ({
  id: "link_01k9z3v6x7e8w9r0t1y2n3h4m5",
  short_url: "https://sho.rt/a",
  original_url: "https://example.com/",
  alias: "a",
  domain: null,
  title: null,
  notes: null,
  tags: [],
  external_id: null,
  clicks: 0,
  unique_clicks: 0,
  last_click_at: null,
  created_at: "2026-01-01T00:00:00.000Z",
  updated_at: "2026-01-01T00:00:00.000Z",
  expires_at: null,
  created_by: null,
  has_password: false,
  status: "active",
  ...change,
});
