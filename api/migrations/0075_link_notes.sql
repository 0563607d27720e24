-- What an account notes about its links, and who created them. Links are moved between domains by the
-- rules of new ones.
alter table links
  -- bounded by characters; the API's bound may be lower
  add column notes text check (length(notes) <= 2000),
  -- the public id of a key or a user; null for a creation by the operator or by Shorthop
  add column created_by text;

create trigger links_keep_moved_case before update of domain_id on links
  for each row when (new.domain_id is not null and new.domain_id is distinct from old.domain_id)
  execute function refuse_other_case();
create trigger links_keep_taken_down_domain before update of domain_id on links
  for each row when (old.taken_down and new.domain_id is distinct from old.domain_id)
  execute function refuse_evasion();

-- Filters of the list of links and templates of UTM parameters are saved as views of analytics are.
alter table saved_views
  add column kind text not null default 'analytics' check (kind in ('analytics', 'links', 'utm')),
  drop constraint saved_views_pkey,
  add primary key (account_id, mode, kind, name);
