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
