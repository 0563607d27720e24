-- Figures of all links of an account together, by the hour: no row a link.
CREATE TABLE IF NOT EXISTS clicks_1h_of_account (
  account_id UUID,
  mode Enum8('live' = 1, 'test' = 2),
  bucket DateTime('UTC'),
  class Enum8('human' = 1, 'bot' = 2, 'prefetch' = 3),
  clicks SimpleAggregateFunction(sum, UInt64),
  visitors AggregateFunction(uniqCombined64(14), UInt64)
) ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(bucket)
ORDER BY (account_id, mode, bucket, class)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_1h_of_account_view TO clicks_1h_of_account AS
SELECT account_id, mode, toStartOfHour(ts) AS bucket, class,
       count() AS clicks, uniqCombined64State(14)(visitor) AS visitors
  FROM clicks
 GROUP BY account_id, mode, bucket, class;

-- Human clicks of an account's links by the UTC day: which of them have the most.
CREATE TABLE IF NOT EXISTS clicks_1d_of_account (
  account_id UUID,
  mode Enum8('live' = 1, 'test' = 2),
  bucket DateTime('UTC'),
  link_id UUID,
  clicks SimpleAggregateFunction(sum, UInt64)
) ENGINE = AggregatingMergeTree
PARTITION BY toYear(bucket)
ORDER BY (account_id, mode, bucket, link_id)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_1d_of_account_view TO clicks_1d_of_account AS
SELECT account_id, mode, toStartOfDay(ts) AS bucket, link_id, count() AS clicks
  FROM clicks
 WHERE class = 'human'
 GROUP BY account_id, mode, bucket, link_id;

-- From what is there already, as in the step before.
TRUNCATE TABLE clicks_1h_of_account;
INSERT INTO clicks_1h_of_account
SELECT account_id, mode, toStartOfHour(bucket) AS bucket, class, sum(clicks) AS clicks,
       uniqCombined64MergeState(14)(visitors) AS visitors
  FROM clicks_15m_of_account
 GROUP BY account_id, mode, bucket, class
SETTINGS max_bytes_before_external_group_by = 1000000000;

TRUNCATE TABLE clicks_1d_of_account;
INSERT INTO clicks_1d_of_account
SELECT account_id, mode, toStartOfDay(bucket) AS bucket, link_id, sum(clicks) AS clicks
  FROM clicks_15m_of_account
 WHERE class = 'human'
 GROUP BY account_id, mode, bucket, link_id
SETTINGS max_bytes_before_external_group_by = 1000000000;
