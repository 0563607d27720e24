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

-- Repairs of rollups that operators ask for (shared/clicks/repair-requests.ts): the owner of the clicks carries them out
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
