-- Archived links and those taken down are few, and aliases of domains that ignore case are unique in lower case.
create index concurrently if not exists links_archived on links (account_id, mode, created_at desc, id desc) where archived;
create unique index concurrently if not exists links_folded_alias_key on links (domain_id, lower(alias)) where folded;
create index concurrently if not exists links_taken_down on links (id) where taken_down;
