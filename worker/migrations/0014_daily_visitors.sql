-- Counts and visitors of links by the UTC day: for axes of such days and for thousands of links at once, a day has one state
-- of visitors instead of up to 24.
CREATE TABLE IF NOT EXISTS clicks_1d (
  link_id UUID CODEC(ZSTD(1)),
  account_id UUID CODEC(ZSTD(1)),
  mode Enum8('live' = 1, 'test' = 2),
  bucket DateTime('UTC'),
  class Enum8('human' = 1, 'bot' = 2, 'prefetch' = 3),
  clicks SimpleAggregateFunction(sum, UInt64) CODEC(T64, ZSTD(1)),
  visitors AggregateFunction(uniqCombined64(14), UInt64) CODEC(ZSTD(1))
) ENGINE = AggregatingMergeTree
PARTITION BY toYear(bucket)
ORDER BY (link_id, bucket, class, account_id, mode)
SETTINGS non_replicated_deduplication_window = 10000;

-- From what is there already; workers are stopped meanwhile. Emptied first, so that an interrupted step can be repeated.
TRUNCATE TABLE clicks_1d;
INSERT INTO clicks_1d (link_id, account_id, mode, bucket, class, clicks, visitors)
SELECT link_id, account_id, mode, toStartOfDay(bucket) AS bucket, class,
       sum(clicks) AS clicks, uniqCombined64MergeState(14)(visitors) AS visitors
  FROM clicks_1h
 GROUP BY link_id, account_id, mode, bucket, class
SETTINGS max_bytes_before_external_group_by = 1000000000;

CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_1d_view TO clicks_1d AS
SELECT link_id, account_id, mode, toStartOfDay(bucket) AS bucket, class,
       sum(clicks) AS clicks, uniqCombined64MergeState(14)(visitors) AS visitors
  FROM click_sums
 GROUP BY link_id, account_id, mode, bucket, class;
