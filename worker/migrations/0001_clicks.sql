-- Every click, enriched. The truth of all figures: rollups can be made anew from it.
-- No address and no user agent string: the worker drops both.
CREATE TABLE IF NOT EXISTS clicks (
  ts DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
  link_id UUID,
  account_id UUID,
  mode Enum8('live' = 1, 'test' = 2),
  class Enum8('human' = 1, 'bot' = 2, 'prefetch' = 3),
  -- Why it is no human's: the pattern of the user agent, or the request's own word.
  class_reason LowCardinality(String),
  -- Keyed hash of link, address and user agent.
  visitor UInt64,
  continent LowCardinality(String),
  -- ISO 3166-1 alpha-2; ZZ where unknown.
  country LowCardinality(String),
  -- ISO 3166-2 where the GeoIP data has a code, else the name.
  region LowCardinality(String),
  region_name LowCardinality(String),
  city LowCardinality(String),
  browser LowCardinality(String),
  os LowCardinality(String),
  device Enum8('other' = 0, 'mobile' = 1, 'desktop' = 2, 'tablet' = 3),
  -- Registrable host, or direct.
  referrer LowCardinality(String),
  referrer_path String CODEC(ZSTD(1)),
  language LowCardinality(String),
  -- Of the short URL's own query.
  utm_source LowCardinality(String),
  utm_medium LowCardinality(String),
  utm_campaign LowCardinality(String),
  utm_term LowCardinality(String),
  utm_content LowCardinality(String),
  -- The short domain that was visited.
  host LowCardinality(String),
  -- Where the click came from: its place in a redirector's journal, unique for ever.
  journal_id UUID,
  page UInt32,
  idx UInt16
) ENGINE = MergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (link_id, ts)
SETTINGS non_replicated_deduplication_window = 10000;

-- Counts in 15-minute buckets: the offset of every time zone is a multiple of 15 minutes.
-- The window makes a repeated insert into clicks have no effect here either.
CREATE TABLE IF NOT EXISTS clicks_15m (
  link_id UUID,
  account_id UUID,
  mode Enum8('live' = 1, 'test' = 2),
  bucket DateTime('UTC'),
  class Enum8('human' = 1, 'bot' = 2, 'prefetch' = 3),
  clicks SimpleAggregateFunction(sum, UInt64),
  -- 2^14 registers: 12 KiB at most a state, 0.8 % error.
  visitors AggregateFunction(uniqCombined64(14), UInt64)
) ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(bucket)
ORDER BY (link_id, bucket, class, account_id, mode)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_15m_view TO clicks_15m AS
SELECT link_id, account_id, mode, toStartOfFifteenMinutes(ts) AS bucket, class,
       count() AS clicks, uniqCombined64State(14)(visitor) AS visitors
  FROM clicks
 GROUP BY link_id, account_id, mode, bucket, class;

-- Human clicks by one dimension at a time: a row a value, not a row a combination. Regions and cities
-- keep what they lie in, for the same name stands for several places.
CREATE TABLE IF NOT EXISTS clicks_15m_by (
  link_id UUID,
  account_id UUID,
  mode Enum8('live' = 1, 'test' = 2),
  bucket DateTime('UTC'),
  dimension Enum8('country' = 1, 'region' = 2, 'city' = 3, 'browser' = 4, 'os' = 5, 'device' = 6,
                  'referrer' = 7),
  value LowCardinality(String),
  country LowCardinality(String),
  region LowCardinality(String),
  region_name LowCardinality(String),
  clicks SimpleAggregateFunction(sum, UInt64)
) ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(bucket)
ORDER BY (link_id, dimension, bucket, value, country, region, region_name, account_id, mode)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_15m_by_view TO clicks_15m_by AS
SELECT link_id, account_id, mode, toStartOfFifteenMinutes(ts) AS bucket,
       row.1 AS dimension, row.2 AS value, row.3 AS country, row.4 AS region, row.5 AS region_name,
       count() AS clicks
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
  )
 GROUP BY link_id, account_id, mode, bucket, dimension, value, country, region, region_name;
