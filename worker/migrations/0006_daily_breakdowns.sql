-- Three tables replace `clicks_1d_by`, which had a row for each of seven dimensions: an insert writes three rows a click at
-- most, and groups by dictionaries instead of texts.
DROP VIEW IF EXISTS clicks_1d_by_view;

-- Human clicks by place and UTC day. A subject is a link, or an account with all of its links: an account's figures are
-- read without those of each link. A city's row has what it lies in, so it counts for the region and the country, too.
CREATE TABLE IF NOT EXISTS clicks_1d_places (
  subject_id UUID CODEC(ZSTD(1)),
  account_id UUID CODEC(ZSTD(1)),
  mode Enum8('live' = 1, 'test' = 2),
  bucket DateTime('UTC'),
  country LowCardinality(String) CODEC(ZSTD(1)),
  region LowCardinality(String) CODEC(ZSTD(1)),
  region_name LowCardinality(String) CODEC(ZSTD(1)),
  city LowCardinality(String) CODEC(ZSTD(1)),
  clicks SimpleAggregateFunction(sum, UInt64) CODEC(T64, ZSTD(1))
) ENGINE = AggregatingMergeTree
PARTITION BY toYear(bucket)
ORDER BY (subject_id, mode, bucket, country, region, region_name, city, account_id)
SETTINGS non_replicated_deduplication_window = 10000;

-- The same by device, browser and system together. Of days whose raw clicks had been deleted before this table was made,
-- a row has only one of the three; the others are empty.
CREATE TABLE IF NOT EXISTS clicks_1d_agents (
  subject_id UUID CODEC(ZSTD(1)),
  account_id UUID CODEC(ZSTD(1)),
  mode Enum8('live' = 1, 'test' = 2),
  bucket DateTime('UTC'),
  device LowCardinality(String) CODEC(ZSTD(1)),
  browser LowCardinality(String) CODEC(ZSTD(1)),
  os LowCardinality(String) CODEC(ZSTD(1)),
  clicks SimpleAggregateFunction(sum, UInt64) CODEC(T64, ZSTD(1))
) ENGINE = AggregatingMergeTree
PARTITION BY toYear(bucket)
ORDER BY (subject_id, mode, bucket, device, browser, os, account_id)
SETTINGS non_replicated_deduplication_window = 10000;

-- The same by referrer.
CREATE TABLE IF NOT EXISTS clicks_1d_referrers (
  subject_id UUID CODEC(ZSTD(1)),
  account_id UUID CODEC(ZSTD(1)),
  mode Enum8('live' = 1, 'test' = 2),
  bucket DateTime('UTC'),
  referrer LowCardinality(String) CODEC(ZSTD(1)),
  clicks SimpleAggregateFunction(sum, UInt64) CODEC(T64, ZSTD(1))
) ENGINE = AggregatingMergeTree
PARTITION BY toYear(bucket)
ORDER BY (subject_id, mode, bucket, referrer, account_id)
SETTINGS non_replicated_deduplication_window = 10000;

-- From what is there already; workers are stopped meanwhile. Emptied first, so that an interrupted step can be repeated:
-- `clicks_1d_by` is dropped only by the next migration.
TRUNCATE TABLE clicks_1d_places;
INSERT INTO clicks_1d_places (subject_id, account_id, mode, bucket, country, region, region_name, city, clicks)
SELECT arrayJoin([link_id, account_id]) AS subject_id, account_id, mode, bucket,
       country, region, region_name, value AS city, sum(clicks) AS clicks
  FROM clicks_1d_by
 WHERE dimension = 'city'
 GROUP BY subject_id, account_id, mode, bucket, country, region, region_name, city
SETTINGS max_bytes_before_external_group_by = 1000000000;

TRUNCATE TABLE clicks_1d_referrers;
INSERT INTO clicks_1d_referrers (subject_id, account_id, mode, bucket, referrer, clicks)
SELECT arrayJoin([link_id, account_id]) AS subject_id, account_id, mode, bucket,
       value AS referrer, sum(clicks) AS clicks
  FROM clicks_1d_by
 WHERE dimension = 'referrer'
 GROUP BY subject_id, account_id, mode, bucket, referrer
SETTINGS max_bytes_before_external_group_by = 1000000000;

TRUNCATE TABLE clicks_1d_agents;
INSERT INTO clicks_1d_agents (subject_id, account_id, mode, bucket, device, browser, os, clicks)
SELECT arrayJoin([link_id, account_id]) AS subject_id, account_id, mode, toStartOfDay(ts) AS bucket,
       toString(device) AS device, browser, os, count() AS clicks
  FROM clicks
 WHERE class = 'human' AND toStartOfDay(ts) IN (
         -- Days of which every click is there.
         SELECT bucket
           FROM (SELECT toStartOfDay(ts) AS bucket, toInt64(count()) AS difference FROM clicks WHERE class = 'human' GROUP BY bucket
                 UNION ALL
                 SELECT bucket, -toInt64(sum(clicks)) FROM clicks_1d_by WHERE dimension = 'device' GROUP BY bucket)
          GROUP BY bucket
         HAVING sum(difference) = 0)
 GROUP BY subject_id, account_id, mode, bucket, device, browser, os
SETTINGS max_bytes_before_external_group_by = 1000000000;

INSERT INTO clicks_1d_agents (subject_id, account_id, mode, bucket, device, browser, os, clicks)
SELECT arrayJoin([link_id, account_id]) AS subject_id, account_id, mode, bucket,
       if(dimension = 'device', value, '') AS device, if(dimension = 'browser', value, '') AS browser,
       if(dimension = 'os', value, '') AS os, sum(clicks) AS clicks
  FROM clicks_1d_by
 WHERE dimension IN ('device', 'browser', 'os') AND bucket NOT IN (
         -- Days of which every click is there.
         SELECT bucket
           FROM (SELECT toStartOfDay(ts) AS bucket, toInt64(count()) AS difference FROM clicks WHERE class = 'human' GROUP BY bucket
                 UNION ALL
                 SELECT bucket, -toInt64(sum(clicks)) FROM clicks_1d_by WHERE dimension = 'device' GROUP BY bucket)
          GROUP BY bucket
         HAVING sum(difference) = 0)
 GROUP BY subject_id, account_id, mode, bucket, device, browser, os
SETTINGS max_bytes_before_external_group_by = 1000000000;

CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_1d_places_view TO clicks_1d_places AS
SELECT arrayJoin([link_id, account_id]) AS subject_id, account_id, mode, toStartOfDay(ts) AS bucket,
       country, region, region_name, city, count() AS clicks
  FROM clicks
 WHERE class = 'human'
 GROUP BY subject_id, account_id, mode, bucket, country, region, region_name, city;

CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_1d_agents_view TO clicks_1d_agents AS
SELECT arrayJoin([link_id, account_id]) AS subject_id, account_id, mode, toStartOfDay(ts) AS bucket,
       toString(device) AS device, browser, os, count() AS clicks
  FROM clicks
 WHERE class = 'human'
 GROUP BY subject_id, account_id, mode, bucket, device, browser, os;

CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_1d_referrers_view TO clicks_1d_referrers AS
SELECT arrayJoin([link_id, account_id]) AS subject_id, account_id, mode, toStartOfDay(ts) AS bucket,
       referrer, count() AS clicks
  FROM clicks
 WHERE class = 'human'
 GROUP BY subject_id, account_id, mode, bucket, referrer;
