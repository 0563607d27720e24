-- Which rule or arm of its link a click took: `rule:` or `arm:` and its id; empty for the link's own destination.
ALTER TABLE clicks ADD COLUMN IF NOT EXISTS target LowCardinality(String) AFTER host;

ALTER TABLE incoming_clicks ADD COLUMN IF NOT EXISTS target String;

-- Workers are stopped meanwhile, as for the migrations before: `MODIFY QUERY` would change the deduplication tokens of what
-- the view passes on.
DROP VIEW IF EXISTS incoming_clicks_view;
CREATE MATERIALIZED VIEW IF NOT EXISTS incoming_clicks_view TO clicks AS
SELECT ts, link_id, account_id, mode, class, class_reason, visitor, continent, country, region, region_name, city,
       browser, os, device, referrer, referrer_path, language, utm_source, utm_medium, utm_campaign, utm_term,
       utm_content, host, journal_id, segment, segment AS page, idx, target
  FROM incoming_clicks;
