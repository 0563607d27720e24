-- Short links, the truth of the whole service: their domains, their figures, and what is counted of them.

create table domains (
  id uuid primary key,
  account_id uuid not null references accounts (id),
  mode text not null check (mode in ('live', 'test')),
  host text not null,
  verification_value text not null,
  created_at timestamptz(3) not null default now(),
  verified_at timestamptz(3),
  case_sensitive boolean not null default true,
  -- while the links of a domain are published again under aliases of the other case
  switching boolean not null default false,
  -- where visitors are led who find no link, and files for apps
  settings jsonb,
  -- when the proof was last looked up, and since when answers lack it
  checked_at timestamptz(3),
  missing_since timestamptz(3),
  -- while all links are being published, or withdrawn from a domain that is not verified any more
  republishing boolean not null default false
);

-- A host belongs to whoever proved it; any account may try.
create unique index domains_verified_host on domains (host) where verified_at is not null;
create unique index domains_by_account on domains (account_id, mode, host);
create index domains_republishing on domains (id) where republishing;
create index domains_switching on domains (id) where switching;
create index domains_by_check on domains (coalesce(checked_at, verified_at)) where verified_at is not null;

create extension if not exists pg_trgm;
create extension if not exists btree_gin;

-- Aliases as domains that ignore case compare them; foldAlias of shared/contracts/alias.ts does the same. Aliases themselves
-- compare by bytes, where only letters of ASCII have cases.
create function fold_alias(alias text) returns text language sql immutable parallel safe
  return normalize(lower(alias collate "default"), nfc) collate "C";

-- Columns that few links have are null for no.
create table links (
  id uuid primary key,
  account_id uuid not null references accounts (id),
  mode text not null check (mode in ('live', 'test')),
  -- null is the service's own short domain
  domain_id uuid references domains (id),
  alias text collate "C" not null,
  -- the alias is unique and matched in lower case, as the link's domain wants it
  folded boolean,
  -- what the client calls the link
  external_id text,
  -- as the client gave it, trimmed; target_url is what the WHATWG parser made of it
  original_url text not null,
  target_url text not null,
  title text,
  -- bounded by characters; the API's bound may be lower
  notes text check (length(notes) <= 2000),
  tags text[] not null default '{}',
  password_hash text,
  expires_at timestamptz(3),
  utm_source text,
  utm_medium text,
  utm_campaign text,
  utm_term text,
  utm_content text,
  forward_query boolean not null default false,
  -- what decides beside the destination: its schedule, whether it is disabled, and so on, as the API has it
  extras jsonb,
  archived boolean,
  -- by an operator, as a single link; accounts and hosts are in the table takedowns
  taken_down boolean,
  version bigint not null,
  -- the public id of a key or a user; null for a creation by the operator or by Shorthop
  created_by text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint links_alias_key unique nulls not distinct (domain_id, alias)
);

create index links_by_account on links (account_id, mode, created_at desc, id desc);
create index links_archived on links (account_id, mode, created_at desc, id desc) where archived;
create index links_by_domain on links (domain_id) where domain_id is not null;
create unique index links_folded_alias_key on links (domain_id, fold_alias(alias)) where folded;
create unique index links_external_id_key on links (account_id, mode, external_id) where external_id is not null;
create index links_by_target on links (account_id, mode, hashtextextended(target_url, 0));
create index links_by_expiry on links (account_id, mode, expires_at) where expires_at is not null;
-- In the order in which they expire, for their events.
create index links_by_expiry_time on links (expires_at, id) where expires_at is not null;
create index links_taken_down on links (id) where taken_down;
create index links_by_tag on links using gin (account_id, mode, tags);
create index links_by_campaign on links (account_id, mode, utm_campaign) where utm_campaign is not null;

-- Search: trigrams of what is searched, within an account. Aliases compare by bytes, and what is joined with them would
-- too: letters beyond ASCII have cases as well.
create index links_search on links using gin
  (account_id, mode,
   ((coalesce(title, '') || E'\n' || alias || E'\n' || original_url || E'\n' || coalesce(notes, '')) collate "default") gin_trgm_ops);

-- What was prepared just before a domain changed is refused, with a code that the API reports as a temporary failure (503).
create function refuse_other_case() returns trigger language plpgsql as $$
declare
  v_domain domains;
begin
  select * into v_domain from domains where id = new.domain_id for share;
  if v_domain.case_sensitive = coalesce(new.folded, false) then
    raise exception 'The domain has aliases of the other case.' using errcode = '57P03';
  end if;
  if v_domain.id is not null and v_domain.verified_at is null then
    raise exception 'The domain is not verified any more.' using errcode = '57P03';
  end if;
  return new;
end
$$;

create trigger links_keep_case before insert on links
  for each row when (new.domain_id is not null) execute function refuse_other_case();
create trigger links_keep_moved_case before update of domain_id on links
  for each row when (new.domain_id is not null and new.domain_id is distinct from old.domain_id)
  execute function refuse_other_case();

-- On the service's own domain, where any account has aliases, the paths beneath an alias whose link forwards them are that
-- account's: whether a link with an alias would be in the way of another account's, or has aliases of others beneath it.
create function is_foreign_path(p_account_id uuid, p_alias text, p_forwards boolean) returns boolean language sql stable as $$
  select p_alias like '%/%' and exists (
           select from links where domain_id is null and alias = split_part(p_alias, '/', 1)
                               and extras ? 'forward_path' and account_id <> p_account_id)
      or p_forwards and exists (
           select from links where domain_id is null and alias > p_alias || '/' and alias < p_alias || '0'
                               and account_id <> p_account_id)
$$;

-- Those who write have locked the alias, and its first segment (api/links/sql.ts).
create function refuse_foreign_path() returns trigger language plpgsql as $$
begin
  if is_foreign_path(new.account_id, new.alias, new.extras ? 'forward_path') then
    raise exception 'The path is that of another account.' using errcode = '23505', constraint = 'links_alias_key';
  end if;
  return new;
end
$$;

create trigger links_keep_paths before insert on links
  for each row when (new.domain_id is null and (new.alias like '%/%' or new.extras ? 'forward_path'))
  execute function refuse_foreign_path();
create trigger links_keep_moved_paths before update of alias, domain_id, extras on links
  for each row when (new.domain_id is null and (new.alias like '%/%' or new.extras ? 'forward_path')
    and (new.alias, new.domain_id is null, coalesce(new.extras ? 'forward_path', false))
        is distinct from (old.alias, old.domain_id is null, coalesce(old.extras ? 'forward_path', false)))
  execute function refuse_foreign_path();

-- Accounts and destination hosts whose links an operator has taken down.
create table takedowns (
  kind text not null check (kind in ('account', 'host')),
  -- the account's UUID, or the host in lower case
  subject text not null,
  created_at timestamptz(3) not null default now(),
  primary key (kind, subject)
);

-- Deleted, renamed or moved, the link could be created again under its alias, and would redirect.
create function refuse_evasion() returns trigger language plpgsql as $$
begin
  raise exception 'The link has been taken down.' using errcode = '57P03';
end
$$;

create trigger links_keep_takedown before delete on links
  for each row when (old.taken_down) execute function refuse_evasion();
create trigger links_keep_alias before update of alias on links
  for each row when (old.taken_down and new.alias <> old.alias) execute function refuse_evasion();
create trigger links_keep_taken_down_domain before update of domain_id on links
  for each row when (old.taken_down and new.domain_id is distinct from old.domain_id)
  execute function refuse_evasion();

-- Figures the worker keeps up to date. Apart from links, so that a count does not rewrite a wide
-- row and its indexes.
create table link_counters (
  link_id uuid primary key references links (id) on delete cascade,
  account_id uuid not null,
  mode text not null,
  clicks bigint not null default 0,
  unique_clicks bigint not null default 0,
  bot_clicks bigint not null default 0,
  -- The last click by a person. The epoch stands for none: it sorts behind all others, and a position in a list can be
  -- compared with it.
  last_click_at timestamptz(3) not null default 'epoch'
) with (fillfactor = 80);

create index link_counters_by_clicks on link_counters (account_id, mode, clicks desc, link_id desc);
create index link_counters_by_last_click on link_counters (account_id, mode, last_click_at desc, link_id desc);

-- How many links an account has, so that a list's total is not counted anew with every page; without archived ones, too.
create table link_totals (
  account_id uuid not null,
  mode text not null,
  links bigint not null,
  archived bigint not null default 0,
  primary key (account_id, mode)
);

create function count_links() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into link_totals as total (account_id, mode, links, archived)
    select account_id, mode, count(*), count(*) filter (where archived) from changed group by account_id, mode
    on conflict (account_id, mode) do update
       set links = total.links + excluded.links, archived = total.archived + excluded.archived;
  else
    update link_totals total set links = total.links - gone.links, archived = total.archived - gone.archived
      from (select account_id, mode, count(*) as links, count(*) filter (where archived) as archived
              from changed group by account_id, mode) gone
     where total.account_id = gone.account_id and total.mode = gone.mode;
  end if;
  return null;
end
$$;

-- Once for a statement, and at its end: what the count locks is locked for the shortest time.
create trigger links_made after insert on links
  referencing new table as changed for each statement execute function count_links();
create trigger links_gone after delete on links
  referencing old table as changed for each statement execute function count_links();

create function count_archived() returns trigger language plpgsql as $$
begin
  update link_totals set archived = archived + case when new.archived then 1 else -1 end
   where account_id = new.account_id and mode = new.mode;
  return null;
end
$$;

create trigger links_archived after update of archived on links
  for each row when (coalesce(old.archived, false) <> coalesce(new.archived, false))
  execute function count_archived();

-- The tags of each account and mode, with the number of their links. A row exists while a link has the tag.
create table tags (
  account_id uuid not null,
  mode text not null,
  name text collate "C" not null,
  -- one of the names in shared/contracts/tag-schemas.ts
  color text,
  links bigint not null,
  primary key (account_id, mode, name)
);

-- Most links first, then by name.
create index tags_by_links on tags (account_id, mode, (-links), name);

-- Adds up changes of tags in one row for each tag. The lock of the totals orders all changes of an account's tags; it is
-- the last one that a change of links takes.
create function add_to_tags(p_account_ids uuid[], p_modes text[], p_names text[], p_changes bigint[]) returns void
language plpgsql as $$
begin
  perform from link_totals total
    where (total.account_id, total.mode) in (select * from unnest(p_account_ids, p_modes))
    order by total.account_id, total.mode for update;
  insert into tags as counted (account_id, mode, name, links)
  select * from unnest(p_account_ids, p_modes, p_names, p_changes) change (account_id, mode, name, links)
   where change.links > 0 order by account_id, mode, name
  on conflict (account_id, mode, name) do update set links = counted.links + excluded.links;
  update tags counted set links = counted.links + change.links
    from unnest(p_account_ids, p_modes, p_names, p_changes) change (account_id, mode, name, links)
   where change.links < 0
     and (counted.account_id, counted.mode, counted.name) = (change.account_id, change.mode, change.name);
  delete from tags counted
   using unnest(p_account_ids, p_modes, p_names, p_changes) change (account_id, mode, name, links)
   where change.links < 0 and counted.links <= 0
     and (counted.account_id, counted.mode, counted.name) = (change.account_id, change.mode, change.name);
end
$$;

create function count_tags() returns trigger language plpgsql as $$
declare
  v_account_ids uuid[];
  v_modes text[];
  v_names text[];
  v_changes bigint[];
begin
  if tg_op = 'INSERT' then
    select array_agg(account_id), array_agg(mode), array_agg(name), array_agg(links)
      into v_account_ids, v_modes, v_names, v_changes
      from (select account_id, mode, name, count(*) as links
              from changed, unnest(tags) name group by 1, 2, 3) change;
  elsif tg_op = 'DELETE' then
    select array_agg(account_id), array_agg(mode), array_agg(name), array_agg(links)
      into v_account_ids, v_modes, v_names, v_changes
      from (select account_id, mode, name, -count(*) as links
              from changed, unnest(tags) name group by 1, 2, 3) change;
  else
    select array_agg(account_id), array_agg(mode), array_agg(name), array_agg(links)
      into v_account_ids, v_modes, v_names, v_changes
      from (select account_id, mode, name, sum(change)::bigint as links
              from (select new_link.account_id, new_link.mode, new_link.tags as new_tags, old_link.tags as old_tags
                      from changed new_link join former old_link on old_link.id = new_link.id
                     where new_link.tags is distinct from old_link.tags) link,
                   lateral (select name, 1 as change from unnest(new_tags) name
                            union all select name, -1 from unnest(old_tags) name) each
             group by 1, 2, 3 having sum(change) <> 0) change;
  end if;
  if v_names is not null then
    perform add_to_tags(v_account_ids, v_modes, v_names, v_changes);
  end if;
  return null;
end
$$;

-- Triggers fire in the order of their names: those of link_totals come first.
create trigger links_tags_made after insert on links
  referencing new table as changed for each statement execute function count_tags();
create trigger links_tags_gone after delete on links
  referencing old table as changed for each statement execute function count_tags();
create trigger links_tags_changed after update on links
  referencing old table as former new table as changed for each statement execute function count_tags();
