-- Links of a campaign: few of an account's, which a list would look for among all of them. A build
-- that was cut off leaves an index that is not valid, so it begins by dropping it.
drop index concurrently if exists links_by_campaign;

create index concurrently links_by_campaign on links (account_id, mode, utm_campaign) where utm_campaign is not null;
