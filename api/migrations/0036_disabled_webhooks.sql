-- Webhooks that were disabled recently, for the mails about them. A build that was cut off leaves an index that is not valid, so
-- it begins by dropping it.
drop index concurrently if exists webhooks_disabled;

create index concurrently webhooks_disabled on webhooks (disabled_at) where disabled_at is not null;
