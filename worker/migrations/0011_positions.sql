-- Of a manifest its last message in the stream, of a checkpoint that of the last manifest: JSON, see
-- worker/batches/position.ts.
ALTER TABLE batches ADD COLUMN IF NOT EXISTS position String;
