-- Breakdowns read the edges of a range from raw clicks: this rollup is no longer filled.
DROP VIEW IF EXISTS clicks_15m_by_view;

-- The worker inserts here. Nothing is stored: views convert the columns into `clicks` a block at a time, which costs less
-- than parsing rows into dictionaries (LowCardinality).
CREATE TABLE IF NOT EXISTS incoming_clicks (
  ts DateTime64(3, 'UTC'),
  link_id UUID,
  account_id UUID,
  mode Enum8('live' = 1, 'test' = 2),
  class Enum8('human' = 1, 'bot' = 2, 'prefetch' = 3),
  class_reason String,
  visitor UInt64,
  continent String,
  country String,
  region String,
  region_name String,
  city String,
  browser String,
  os String,
  device Enum8('other' = 0, 'mobile' = 1, 'desktop' = 2, 'tablet' = 3),
  referrer String,
  referrer_path String,
  language String,
  utm_source String,
  utm_medium String,
  utm_campaign String,
  utm_term String,
  utm_content String,
  host String,
  journal_id UUID,
  segment UInt32,
  idx UInt16
) ENGINE = Null;

-- `segment` replaces `page`, which processes of the previous version still insert and read; both are filled until a later
-- migration drops `page`.
ALTER TABLE clicks ADD COLUMN IF NOT EXISTS segment UInt32 DEFAULT page AFTER page;

CREATE MATERIALIZED VIEW IF NOT EXISTS incoming_clicks_view TO clicks AS
SELECT ts, link_id, account_id, mode, class, class_reason, visitor, continent, country, region, region_name, city,
       browser, os, device, referrer, referrer_path, language, utm_source, utm_medium, utm_campaign, utm_term,
       utm_content, host, journal_id, segment, segment AS page, idx
  FROM incoming_clicks;

-- The sums of one insert by quarter hour: from these few rows, views fill every rollup without dimensions. Nothing is
-- stored here.
CREATE TABLE IF NOT EXISTS click_sums (
  link_id UUID,
  account_id UUID,
  mode Enum8('live' = 1, 'test' = 2),
  bucket DateTime('UTC'),
  class Enum8('human' = 1, 'bot' = 2, 'prefetch' = 3),
  clicks UInt64,
  visitors AggregateFunction(uniqCombined64(14), UInt64)
) ENGINE = Null;

-- The views of the rollups are made anew, as `MODIFY QUERY` would change the deduplication tokens of what they pass on at
-- the next restart. Workers are stopped meanwhile. What one inserts nevertheless before the sums are passed on, in the
-- last statement of this group, the consistency check adds to the rollups.
DROP VIEW IF EXISTS clicks_15m_view;
CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_15m_view TO clicks_15m AS
SELECT link_id, account_id, mode, bucket, class, clicks, visitors
  FROM click_sums;

DROP VIEW IF EXISTS clicks_1h_view;
CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_1h_view TO clicks_1h AS
SELECT link_id, account_id, mode, toStartOfHour(bucket) AS bucket, class,
       sum(clicks) AS clicks, uniqCombined64MergeState(14)(visitors) AS visitors
  FROM click_sums
 GROUP BY link_id, account_id, mode, bucket, class;

DROP VIEW IF EXISTS clicks_1h_of_account_view;
CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_1h_of_account_view TO clicks_1h_of_account AS
SELECT account_id, mode, toStartOfHour(bucket) AS bucket, class,
       sum(clicks) AS clicks, uniqCombined64MergeState(14)(visitors) AS visitors
  FROM click_sums
 GROUP BY account_id, mode, bucket, class;

DROP VIEW IF EXISTS clicks_1d_of_account_view;
CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_1d_of_account_view TO clicks_1d_of_account AS
SELECT account_id, mode, toStartOfDay(bucket) AS bucket, link_id, sum(clicks) AS clicks
  FROM click_sums
 WHERE class = 'human'
 GROUP BY account_id, mode, bucket, link_id;

DROP VIEW IF EXISTS clicks_15m_of_account_view;
CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_15m_of_account_view TO clicks_15m_of_account AS
SELECT account_id, mode, bucket, link_id, class, clicks
  FROM click_sums;

CREATE MATERIALIZED VIEW IF NOT EXISTS click_sums_view TO click_sums AS
SELECT link_id, account_id, mode, toStartOfFifteenMinutes(ts) AS bucket, class,
       count() AS clicks, uniqCombined64State(14)(visitor) AS visitors
  FROM clicks
 GROUP BY link_id, account_id, mode, bucket, class;

-- Its visitors were those of `clicks_15m` in another order.
ALTER TABLE clicks_15m_of_account DROP COLUMN IF EXISTS visitors;

-- Entropy coding: indexes into dictionaries are small and skewed, which LZ4 does not use. Parts that exist are compressed
-- again when they are merged.
ALTER TABLE clicks
  MODIFY COLUMN link_id CODEC(ZSTD(1)),
  MODIFY COLUMN account_id CODEC(ZSTD(1)),
  MODIFY COLUMN class CODEC(ZSTD(1)),
  MODIFY COLUMN class_reason CODEC(ZSTD(1)),
  MODIFY COLUMN continent CODEC(ZSTD(1)),
  MODIFY COLUMN country CODEC(ZSTD(1)),
  MODIFY COLUMN region CODEC(ZSTD(1)),
  MODIFY COLUMN region_name CODEC(ZSTD(1)),
  MODIFY COLUMN city CODEC(ZSTD(1)),
  MODIFY COLUMN browser CODEC(ZSTD(1)),
  MODIFY COLUMN os CODEC(ZSTD(1)),
  MODIFY COLUMN device CODEC(ZSTD(1)),
  MODIFY COLUMN referrer CODEC(ZSTD(1)),
  MODIFY COLUMN language CODEC(ZSTD(1)),
  MODIFY COLUMN utm_source CODEC(ZSTD(1)),
  MODIFY COLUMN utm_medium CODEC(ZSTD(1)),
  MODIFY COLUMN utm_campaign CODEC(ZSTD(1)),
  MODIFY COLUMN utm_term CODEC(ZSTD(1)),
  MODIFY COLUMN utm_content CODEC(ZSTD(1)),
  MODIFY COLUMN host CODEC(ZSTD(1)),
  MODIFY COLUMN journal_id CODEC(ZSTD(1)),
  MODIFY COLUMN page CODEC(Delta, ZSTD(1)),
  MODIFY COLUMN segment CODEC(Delta, ZSTD(1)),
  MODIFY COLUMN idx CODEC(T64, ZSTD(1));

ALTER TABLE clicks_1d_by
  MODIFY COLUMN link_id CODEC(ZSTD(1)),
  MODIFY COLUMN account_id CODEC(ZSTD(1)),
  MODIFY COLUMN value CODEC(ZSTD(1)),
  MODIFY COLUMN country CODEC(ZSTD(1)),
  MODIFY COLUMN region CODEC(ZSTD(1)),
  MODIFY COLUMN region_name CODEC(ZSTD(1)),
  MODIFY COLUMN clicks CODEC(T64, ZSTD(1));

ALTER TABLE clicks_15m MODIFY COLUMN visitors CODEC(ZSTD(1));
ALTER TABLE clicks_1h MODIFY COLUMN visitors CODEC(ZSTD(1));

-- Last, so that inserts which still fill the table have ended; one that has not fails, and is repeated. For API processes
-- of the previous version, a view reads the same from raw clicks.
DROP TABLE IF EXISTS clicks_15m_by SETTINGS max_table_size_to_drop = 0;
CREATE VIEW IF NOT EXISTS clicks_15m_by AS
SELECT link_id, account_id, mode, toStartOfFifteenMinutes(ts) AS bucket,
       CAST(row.1 AS Enum8('country' = 1, 'region' = 2, 'city' = 3, 'browser' = 4, 'os' = 5, 'device' = 6,
                           'referrer' = 7)) AS dimension,
       row.2 AS value, row.3 AS country, row.4 AS region, row.5 AS region_name, 1 AS clicks
  FROM (
    SELECT link_id, account_id, mode, ts,
           arrayJoin([
             ('country', toString(country), '', '', ''),
             ('region', toString(region), toString(country), '', toString(region_name)),
             ('city', toString(city), toString(country), toString(region), toString(region_name)),
             ('browser', toString(browser), '', '', ''),
             ('os', toString(os), '', '', ''),
             ('device', toString(device), '', '', ''),
             ('referrer', toString(referrer), '', '', '')
           ]) AS row
      FROM clicks
     WHERE class = 'human'
  );
