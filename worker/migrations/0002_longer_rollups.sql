-- Counts and visitors by the hour: days of most zones begin on one, and a quarter of the states is read.
CREATE TABLE IF NOT EXISTS clicks_1h (
  link_id UUID,
  account_id UUID,
  mode Enum8('live' = 1, 'test' = 2),
  bucket DateTime('UTC'),
  class Enum8('human' = 1, 'bot' = 2, 'prefetch' = 3),
  clicks SimpleAggregateFunction(sum, UInt64),
  visitors AggregateFunction(uniqCombined64(14), UInt64)
) ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(bucket)
ORDER BY (link_id, bucket, class, account_id, mode)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_1h_view TO clicks_1h AS
SELECT link_id, account_id, mode, toStartOfHour(ts) AS bucket, class,
       count() AS clicks, uniqCombined64State(14)(visitor) AS visitors
  FROM clicks
 GROUP BY link_id, account_id, mode, bucket, class;

-- Human clicks by one dimension at a time and by the UTC day: what lies between the ends of a range.
CREATE TABLE IF NOT EXISTS clicks_1d_by (
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
PARTITION BY toYear(bucket)
ORDER BY (link_id, dimension, bucket, value, country, region, region_name, account_id, mode)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_1d_by_view TO clicks_1d_by AS
SELECT link_id, account_id, mode, toStartOfDay(ts) AS bucket,
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

-- The same counts in the order of accounts, for figures of all links together.
CREATE TABLE IF NOT EXISTS clicks_15m_of_account (
  account_id UUID,
  mode Enum8('live' = 1, 'test' = 2),
  bucket DateTime('UTC'),
  link_id UUID,
  class Enum8('human' = 1, 'bot' = 2, 'prefetch' = 3),
  clicks SimpleAggregateFunction(sum, UInt64),
  visitors AggregateFunction(uniqCombined64(14), UInt64)
) ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(bucket)
ORDER BY (account_id, mode, bucket, link_id, class)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_15m_of_account_view TO clicks_15m_of_account AS
SELECT account_id, mode, toStartOfFifteenMinutes(ts) AS bucket, link_id, class,
       count() AS clicks, uniqCombined64State(14)(visitor) AS visitors
  FROM clicks
 GROUP BY account_id, mode, bucket, link_id, class;

-- From what is there already. Nothing may be inserted meanwhile: workers are stopped, and clicks wait in
-- JetStream. Emptied first, so that a step cut short can be taken again.
TRUNCATE TABLE clicks_1h;
INSERT INTO clicks_1h
SELECT link_id, account_id, mode, toStartOfHour(ts) AS bucket, class,
       count() AS clicks, uniqCombined64State(14)(visitor) AS visitors
  FROM clicks
 GROUP BY link_id, account_id, mode, bucket, class
SETTINGS max_bytes_before_external_group_by = 1000000000;

TRUNCATE TABLE clicks_1d_by;
INSERT INTO clicks_1d_by
SELECT link_id, account_id, mode, toStartOfDay(bucket) AS bucket, dimension, value, country, region,
       region_name, sum(clicks) AS clicks
  FROM clicks_15m_by
 GROUP BY link_id, account_id, mode, bucket, dimension, value, country, region, region_name
SETTINGS max_bytes_before_external_group_by = 1000000000;

TRUNCATE TABLE clicks_15m_of_account;
INSERT INTO clicks_15m_of_account
SELECT account_id, mode, bucket, link_id, class, sum(clicks) AS clicks,
       uniqCombined64MergeState(14)(visitors) AS visitors
  FROM clicks_15m
 GROUP BY account_id, mode, bucket, link_id, class
SETTINGS max_bytes_before_external_group_by = 1000000000;
