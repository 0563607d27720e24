-- Ids that clients give their links.
alter table links add column external_id text;
