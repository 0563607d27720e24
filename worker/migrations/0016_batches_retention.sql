-- Manifests expired after 7 days, checkpoints after 30: when no worker had run for 8 days, what the last one had stored since
-- its last checkpoint was forgotten, and segments that a redirector still had were stored again. All live equally long.
ALTER TABLE batches MODIFY TTL toDateTime(at) + INTERVAL 30 DAY DELETE;
