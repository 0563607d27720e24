-- The log of batches: who may insert clicks, and which segments are stored (docs/batches.md).
-- Only entries after the last checkpoint are read, so older ones expire. An owner writes a checkpoint at least daily.
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
  at DateTime64(3, 'UTC') DEFAULT now64(3)
) ENGINE = MergeTree
ORDER BY (kind, epoch, owner, number)
TTL toDateTime(at) + INTERVAL 7 DAY DELETE WHERE kind IN ('manifest', 'settled'),
    toDateTime(at) + INTERVAL 30 DAY DELETE
SETTINGS non_replicated_deduplication_window = 10000;
