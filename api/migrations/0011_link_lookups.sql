-- Finding links by external id, destination and expiry. Built while links are written; a build that was cut off leaves
-- an index that is not valid, so each begins by dropping it.

drop index concurrently if exists links_external_id_key;

create unique index concurrently links_external_id_key on links (account_id, mode, external_id)
  where external_id is not null;

drop index concurrently if exists links_by_target;

create index concurrently links_by_target on links (account_id, mode, hashtextextended(target_url, 0));

drop index concurrently if exists links_by_expiry;

create index concurrently links_by_expiry on links (account_id, mode, expires_at) where expires_at is not null;
