-- Search: notes are searched as well.

drop index concurrently if exists links_search;

create index concurrently links_search on links using gin
  (account_id, mode,
   ((coalesce(title, '') || E'\n' || alias || E'\n' || original_url || E'\n' || coalesce(notes, '')) collate "default") gin_trgm_ops);
