-- Links in the order in which they expire, for their events. A build that was cut off leaves an index that is not valid, so
-- it begins by dropping it.
drop index concurrently if exists links_by_expiry_time;

create index concurrently links_by_expiry_time on links (expires_at, id) where expires_at is not null;
