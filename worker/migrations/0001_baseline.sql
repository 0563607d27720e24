-- Every click, enriched. The truth of all figures: rollups can be made anew from it.
-- No address and no user agent string: the worker drops both.
-- ZSTD: indexes into dictionaries are small and skewed, which LZ4 does not use.
CREATE TABLE IF NOT EXISTS clicks (
  ts DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
  link_id UUID CODEC(ZSTD(1)),
  account_id UUID CODEC(ZSTD(1)),
  mode Enum8('live' = 1, 'test' = 2),
  class Enum8('human' = 1, 'bot' = 2, 'prefetch' = 3) CODEC(ZSTD(1)),
  -- Why it is no human's: the pattern of the user agent, or the request's own word.
  class_reason LowCardinality(String) CODEC(ZSTD(1)),
  -- Keyed hash of link, network and user agent; 0 for a click of which no visitor is known.
  visitor UInt64,
  continent LowCardinality(String) CODEC(ZSTD(1)),
  -- ISO 3166-1 alpha-2; ZZ where unknown.
  country LowCardinality(String) CODEC(ZSTD(1)),
  -- ISO 3166-2 where the GeoIP data has a code, else the name.
  region LowCardinality(String) CODEC(ZSTD(1)),
  region_name LowCardinality(String) CODEC(ZSTD(1)),
  city LowCardinality(String) CODEC(ZSTD(1)),
  browser LowCardinality(String) CODEC(ZSTD(1)),
  os LowCardinality(String) CODEC(ZSTD(1)),
  device Enum8('other' = 0, 'mobile' = 1, 'desktop' = 2, 'tablet' = 3) CODEC(ZSTD(1)),
  -- Registrable host, or direct.
  referrer LowCardinality(String) CODEC(ZSTD(1)),
  referrer_path String CODEC(ZSTD(1)),
  language LowCardinality(String) CODEC(ZSTD(1)),
  utm_source LowCardinality(String) COMMENT 'Of the destination, else of the short URL.' CODEC(ZSTD(1)),
  utm_medium LowCardinality(String) COMMENT 'Of the destination, else of the short URL.' CODEC(ZSTD(1)),
  utm_campaign LowCardinality(String) COMMENT 'Of the destination, else of the short URL.' CODEC(ZSTD(1)),
  utm_term LowCardinality(String) COMMENT 'Of the destination, else of the short URL.' CODEC(ZSTD(1)),
  utm_content LowCardinality(String) COMMENT 'Of the destination, else of the short URL.' CODEC(ZSTD(1)),
  -- The short domain that was visited.
  host LowCardinality(String) CODEC(ZSTD(1)),
  -- Which rule or arm of its link a click took: `rule:` or `arm:` and its id; empty for the link's own destination.
  target LowCardinality(String),
  -- What led to the click: the short URL, or its QR code.
  trigger Enum8('link' = 0, 'qr' = 1) CODEC(ZSTD(1)),
  -- Where the click came from: its place in a redirector's journal, unique for ever.
  journal_id UUID CODEC(ZSTD(1)),
  segment UInt32 CODEC(Delta, ZSTD(1)),
  idx UInt16 CODEC(T64, ZSTD(1)),
  -- The number of the import that it came with; 0 for a click of a redirector.
  import UInt32 CODEC(T64, ZSTD(1)),
  imported LowCardinality(String) ALIAS if(import = 0, 'no', 'yes')
) ENGINE = MergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (link_id, ts)
SETTINGS non_replicated_deduplication_window = 10000;

-- The sums of one insert by quarter hour: from these few rows, views fill every rollup without dimensions. Nothing is
-- stored here.
CREATE TABLE IF NOT EXISTS click_sums (
  link_id UUID,
  account_id UUID,
  mode Enum8('live' = 1, 'test' = 2),
  bucket DateTime('UTC'),
  class Enum8('human' = 1, 'bot' = 2, 'prefetch' = 3),
  import UInt32,
  clicks UInt64,
  visitors AggregateFunction(uniqCombined64(14), UInt64)
) ENGINE = Null;

-- Every rollup has the import of its clicks as a key: undoing one deletes its rows, with its visitors.
-- Counts in 15-minute buckets: the offset of every time zone is a multiple of 15 minutes.
-- The window makes a repeated insert into clicks have no effect here either.
CREATE TABLE IF NOT EXISTS clicks_15m (
  link_id UUID,
  account_id UUID,
  mode Enum8('live' = 1, 'test' = 2),
  bucket DateTime('UTC'),
  class Enum8('human' = 1, 'bot' = 2, 'prefetch' = 3),
  import UInt32,
  clicks SimpleAggregateFunction(sum, UInt64),
  -- 2^14 registers: 12 KiB at most a state, 0.8 % error.
  visitors AggregateFunction(uniqCombined64(14), UInt64) CODEC(ZSTD(1))
) ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(bucket)
ORDER BY (link_id, bucket, class, account_id, mode, import)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_15m_view TO clicks_15m AS
SELECT link_id, account_id, mode, bucket, class, import, clicks, visitors
  FROM click_sums;

-- Counts and visitors by the hour: days of most zones begin on one, and a quarter of the states is read.
CREATE TABLE IF NOT EXISTS clicks_1h (
  link_id UUID,
  account_id UUID,
  mode Enum8('live' = 1, 'test' = 2),
  bucket DateTime('UTC'),
  class Enum8('human' = 1, 'bot' = 2, 'prefetch' = 3),
  import UInt32,
  clicks SimpleAggregateFunction(sum, UInt64),
  visitors AggregateFunction(uniqCombined64(14), UInt64) CODEC(ZSTD(1))
) ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(bucket)
ORDER BY (link_id, bucket, class, account_id, mode, import)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_1h_view TO clicks_1h AS
SELECT link_id, account_id, mode, toStartOfHour(bucket) AS bucket, class, import,
       sum(clicks) AS clicks, uniqCombined64MergeState(14)(visitors) AS visitors
  FROM click_sums
 GROUP BY link_id, account_id, mode, bucket, class, import;

-- Counts and visitors by the UTC day: for axes of such days and for thousands of links at once, a day has one state of
-- visitors instead of up to 24.
CREATE TABLE IF NOT EXISTS clicks_1d (
  link_id UUID CODEC(ZSTD(1)),
  account_id UUID CODEC(ZSTD(1)),
  mode Enum8('live' = 1, 'test' = 2),
  bucket DateTime('UTC'),
  class Enum8('human' = 1, 'bot' = 2, 'prefetch' = 3),
  import UInt32,
  clicks SimpleAggregateFunction(sum, UInt64) CODEC(T64, ZSTD(1)),
  visitors AggregateFunction(uniqCombined64(14), UInt64) CODEC(ZSTD(1))
) ENGINE = AggregatingMergeTree
PARTITION BY toYear(bucket)
ORDER BY (link_id, bucket, class, account_id, mode, import)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_1d_view TO clicks_1d AS
SELECT link_id, account_id, mode, toStartOfDay(bucket) AS bucket, class, import,
       sum(clicks) AS clicks, uniqCombined64MergeState(14)(visitors) AS visitors
  FROM click_sums
 GROUP BY link_id, account_id, mode, bucket, class, import;

-- Counts by quarter hour in the order of accounts, for figures of all links together.
CREATE TABLE IF NOT EXISTS clicks_15m_of_account (
  account_id UUID,
  mode Enum8('live' = 1, 'test' = 2),
  bucket DateTime('UTC'),
  link_id UUID,
  class Enum8('human' = 1, 'bot' = 2, 'prefetch' = 3),
  import UInt32,
  clicks SimpleAggregateFunction(sum, UInt64)
) ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(bucket)
ORDER BY (account_id, mode, bucket, link_id, class, import)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_15m_of_account_view TO clicks_15m_of_account AS
SELECT account_id, mode, bucket, link_id, class, import, clicks
  FROM click_sums;

-- Figures of all links of an account together, by the hour: no row a link.
CREATE TABLE IF NOT EXISTS clicks_1h_of_account (
  account_id UUID,
  mode Enum8('live' = 1, 'test' = 2),
  bucket DateTime('UTC'),
  class Enum8('human' = 1, 'bot' = 2, 'prefetch' = 3),
  import UInt32,
  clicks SimpleAggregateFunction(sum, UInt64),
  visitors AggregateFunction(uniqCombined64(14), UInt64)
) ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(bucket)
ORDER BY (account_id, mode, bucket, class, import)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_1h_of_account_view TO clicks_1h_of_account AS
SELECT account_id, mode, toStartOfHour(bucket) AS bucket, class, import,
       sum(clicks) AS clicks, uniqCombined64MergeState(14)(visitors) AS visitors
  FROM click_sums
 GROUP BY account_id, mode, bucket, class, import;

-- Human clicks of an account's links by the UTC day: which of them have the most.
CREATE TABLE IF NOT EXISTS clicks_1d_of_account (
  account_id UUID,
  mode Enum8('live' = 1, 'test' = 2),
  bucket DateTime('UTC'),
  link_id UUID,
  import UInt32,
  clicks SimpleAggregateFunction(sum, UInt64)
) ENGINE = AggregatingMergeTree
PARTITION BY toYear(bucket)
ORDER BY (account_id, mode, bucket, link_id, import)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_1d_of_account_view TO clicks_1d_of_account AS
SELECT account_id, mode, toStartOfDay(bucket) AS bucket, link_id, import, sum(clicks) AS clicks
  FROM click_sums
 WHERE class = 'human'
 GROUP BY account_id, mode, bucket, link_id, import;

-- Human clicks by place and UTC day. A subject is a link, or an account with all of its links: an account's figures are
-- read without those of each link. A city's row has what it lies in, so it counts for the region and the country, too.
CREATE TABLE IF NOT EXISTS clicks_1d_places (
  subject_id UUID CODEC(ZSTD(1)),
  account_id UUID CODEC(ZSTD(1)),
  mode Enum8('live' = 1, 'test' = 2),
  bucket DateTime('UTC'),
  import UInt32 CODEC(T64, ZSTD(1)),
  country LowCardinality(String) CODEC(ZSTD(1)),
  region LowCardinality(String) CODEC(ZSTD(1)),
  region_name LowCardinality(String) CODEC(ZSTD(1)),
  city LowCardinality(String) CODEC(ZSTD(1)),
  clicks SimpleAggregateFunction(sum, UInt64) CODEC(T64, ZSTD(1))
) ENGINE = AggregatingMergeTree
PARTITION BY toYear(bucket)
ORDER BY (subject_id, mode, bucket, country, region, region_name, city, account_id, import)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_1d_places_view TO clicks_1d_places AS
SELECT arrayJoin([link_id, account_id]) AS subject_id, account_id, mode, toStartOfDay(ts) AS bucket, import,
       country, region, region_name, city, count() AS clicks
  FROM clicks
 WHERE class = 'human'
 GROUP BY subject_id, account_id, mode, bucket, import, country, region, region_name, city;

-- The same by device, browser and system together.
CREATE TABLE IF NOT EXISTS clicks_1d_agents (
  subject_id UUID CODEC(ZSTD(1)),
  account_id UUID CODEC(ZSTD(1)),
  mode Enum8('live' = 1, 'test' = 2),
  bucket DateTime('UTC'),
  import UInt32 CODEC(T64, ZSTD(1)),
  device LowCardinality(String) CODEC(ZSTD(1)),
  browser LowCardinality(String) CODEC(ZSTD(1)),
  os LowCardinality(String) CODEC(ZSTD(1)),
  clicks SimpleAggregateFunction(sum, UInt64) CODEC(T64, ZSTD(1))
) ENGINE = AggregatingMergeTree
PARTITION BY toYear(bucket)
ORDER BY (subject_id, mode, bucket, device, browser, os, account_id, import)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_1d_agents_view TO clicks_1d_agents AS
SELECT arrayJoin([link_id, account_id]) AS subject_id, account_id, mode, toStartOfDay(ts) AS bucket, import,
       toString(device) AS device, browser, os, count() AS clicks
  FROM clicks
 WHERE class = 'human'
 GROUP BY subject_id, account_id, mode, bucket, import, device, browser, os;

-- The same by referrer.
CREATE TABLE IF NOT EXISTS clicks_1d_referrers (
  subject_id UUID CODEC(ZSTD(1)),
  account_id UUID CODEC(ZSTD(1)),
  mode Enum8('live' = 1, 'test' = 2),
  bucket DateTime('UTC'),
  import UInt32 CODEC(T64, ZSTD(1)),
  referrer LowCardinality(String) CODEC(ZSTD(1)),
  clicks SimpleAggregateFunction(sum, UInt64) CODEC(T64, ZSTD(1))
) ENGINE = AggregatingMergeTree
PARTITION BY toYear(bucket)
ORDER BY (subject_id, mode, bucket, referrer, account_id, import)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_1d_referrers_view TO clicks_1d_referrers AS
SELECT arrayJoin([link_id, account_id]) AS subject_id, account_id, mode, toStartOfDay(ts) AS bucket, import,
       referrer, count() AS clicks
  FROM clicks
 WHERE class = 'human'
 GROUP BY subject_id, account_id, mode, bucket, import, referrer;

-- The log of batches: who may insert clicks, and which segments are stored (docs/batches.md).
-- Only entries after the last checkpoint are read, so older ones expire, all equally late. An owner writes a checkpoint at
-- least daily.
CREATE TABLE IF NOT EXISTS batches (
  kind Enum8('claim' = 1, 'manifest' = 2, 'settled' = 3, 'checkpoint' = 4),
  epoch UInt64,
  owner String,
  number UInt64,
  -- The deduplication token of a manifest's insert.
  token String,
  -- Ranges of segment numbers by journal: of a manifest its own, of a checkpoint all that are stored.
  segments String CODEC(ZSTD(1)),
  -- Where the segments of a manifest were in the stream.
  sequences String CODEC(ZSTD(1)),
  -- Unix milliseconds of the first and the last click of a manifest.
  first_click Int64,
  last_click Int64,
  -- Of a checkpoint: manifests whose segments had left the stream before it was known whether they are stored.
  open String CODEC(ZSTD(1)),
  at DateTime64(3, 'UTC') DEFAULT now64(3),
  -- Of a manifest its last message in the stream, of a checkpoint that of the last manifest: JSON.
  position String
) ENGINE = MergeTree
ORDER BY (kind, epoch, owner, number)
TTL toDateTime(at) + INTERVAL 30 DAY DELETE
SETTINGS non_replicated_deduplication_window = 10000;

-- Failed requests: those that did not get to a destination, by quarter hour (docs/decisions/0026-failed-requests.md).
CREATE TABLE IF NOT EXISTS failures (
  -- Nil for an unknown alias, whose owner is that of the domain; so is the link.
  account_id UUID,
  mode Enum8('live' = 1, 'test' = 2),
  -- Empty for the service's own short domain.
  domain String,
  link_id UUID,
  reason LowCardinality(String),
  bucket DateTime('UTC'),
  requests UInt64
) ENGINE = SummingMergeTree
PARTITION BY toYYYYMM(bucket)
ORDER BY (account_id, mode, domain, link_id, reason, bucket)
SETTINGS non_replicated_deduplication_window = 10000;

-- Unknown aliases by name: those asked for most often.
CREATE TABLE IF NOT EXISTS unknown_aliases (
  domain String,
  bucket DateTime('UTC'),
  alias String,
  requests UInt64
) ENGINE = SummingMergeTree
PARTITION BY toYYYYMM(bucket)
ORDER BY (domain, bucket, alias)
SETTINGS non_replicated_deduplication_window = 10000;

-- What retention was in force, and since when single clicks are whole (shared/clicks/whole-clicks.ts): clicks that one
-- has deleted do not come back when it is raised.
CREATE TABLE IF NOT EXISTS clicks_retention (
  -- Of entries, the last is the one with the highest number.
  number UInt64,
  -- Days of the TTL of clicks; 0 without one.
  days UInt32,
  -- Clicks before this time may be gone.
  whole_from DateTime('UTC'),
  at DateTime64(3, 'UTC') DEFAULT now64(3)
) ENGINE = MergeTree
ORDER BY (number)
SETTINGS non_replicated_deduplication_window = 10000;

-- Repairs of rollups that operators ask for (shared/clicks/rollups.ts): the owner of the clicks carries them out
-- between its inserts. Entries are only appended.
CREATE TABLE IF NOT EXISTS rollup_repairs (
  id UUID,
  state Enum8('requested' = 1, 'started' = 2, 'done' = 3),
  -- Unix seconds, the end exclusive.
  range_from UInt32,
  range_to UInt32,
  -- Buckets that were rebuilt, when it is done.
  rebuilt UInt64,
  at DateTime64(3, 'UTC') DEFAULT now64(3)
) ENGINE = MergeTree
ORDER BY (id, state)
TTL toDateTime(at) + INTERVAL 7 DAY
SETTINGS non_replicated_deduplication_window = 10000;

-- The worker inserts here. Nothing is stored: a view converts the columns into `clicks` a block at a time, which costs less
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
  idx UInt16,
  target String,
  trigger Enum8('link' = 0, 'qr' = 1),
  import UInt32
) ENGINE = Null;

-- Last, when everything is there that an insert fills.
CREATE MATERIALIZED VIEW IF NOT EXISTS click_sums_view TO click_sums AS
SELECT link_id, account_id, mode, toStartOfFifteenMinutes(ts) AS bucket, class, import,
       count() AS clicks, uniqCombined64StateIf(14)(visitor, visitor != 0) AS visitors
  FROM clicks
 GROUP BY link_id, account_id, mode, bucket, class, import;

CREATE MATERIALIZED VIEW IF NOT EXISTS incoming_clicks_view TO clicks AS
SELECT ts, link_id, account_id, mode, class, class_reason, visitor, continent, country, region, region_name, city,
       browser, os, device, referrer, referrer_path, language, utm_source, utm_medium, utm_campaign, utm_term,
       utm_content, host, journal_id, segment, idx, target, trigger, import
  FROM incoming_clicks;
