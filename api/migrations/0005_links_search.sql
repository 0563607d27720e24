-- Search: trigrams of what is searched, within an account. Built while links are written; a build
-- that was cut off leaves an index that is not valid, so each begins by dropping it. Aliases compare
-- by bytes, and what is joined with them would too: letters beyond ASCII have cases as well.

drop index concurrently if exists links_search;

create index concurrently links_search on links using gin
  (account_id, mode,
   ((coalesce(title, '') || E'\n' || alias || E'\n' || original_url) collate "default") gin_trgm_ops);

drop index concurrently if exists links_by_tag;

create index concurrently links_by_tag on links using gin (account_id, mode, tags);
