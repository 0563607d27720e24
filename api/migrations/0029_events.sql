-- The ledger of events: what happens to what an account owns. A row is written in the transaction of the change that it
-- records, and never changes afterwards, except that it gets its position.
create table events (
  id uuid primary key,
  account_id uuid not null references accounts (id) on delete cascade,
  mode text not null check (mode in ('live', 'test')),
  type text not null check (length(type) between 1 and 50),
  -- the link, domain, key, user or share that it is about
  object_id uuid,
  -- also for what is about a link without being a change of it
  link_id uuid,
  data jsonb not null,
  -- who caused it: {"type": "api_key" | "user" | "share" | "operator" | "system", "id": …}
  actor jsonb not null,
  occurred_at timestamptz(3) not null default clock_timestamp(),
  -- The order in which changes were written. Changes of one link hold its lock until they commit, so theirs is the order in
  -- which they happened, whatever the clock does.
  sequence bigint not null generated always as identity,
  -- Its place in the feed of its account and mode; null until somebody reads the feed: see number_events.
  position bigint,
  -- so that a page can be bounded without reading what does not fit into it
  bytes integer not null generated always as (octet_length(data::text)) stored
);

create unique index events_by_position on events (account_id, mode, position) where position is not null;

create index events_unnumbered on events (account_id, mode, sequence) where position is null;

-- The highest position that retention has deleted, of accounts of which it has deleted any. Whoever has read less has missed
-- events, and is told so.
create table event_floors (
  account_id uuid not null references accounts (id) on delete cascade,
  mode text not null check (mode in ('live', 'test')),
  position bigint not null,
  primary key (account_id, mode)
);

-- Accounts that have read events of the type clicks.recorded, which are only made for those.
create table event_readers (
  account_id uuid not null references accounts (id) on delete cascade,
  mode text not null check (mode in ('live', 'test')),
  read_at timestamptz(3) not null,
  primary key (account_id, mode)
);

-- How far what happens by itself has been noticed, by name: one row each, which one process at a time works on.
create table event_progress (
  name text primary key,
  -- of `expiry`: links that expired up to here have their event
  reached_at timestamptz(3) not null,
  link_id uuid,
  -- of `clicks`: the last batch of clicks (docs/batches.md) whose events are written; null while nobody reads them
  epoch bigint,
  batch bigint
);
insert into event_progress (name, reached_at) values ('expiry', clock_timestamp()), ('clicks', clock_timestamp());

-- Links with a click limit whose clicks have changed since it was last checked whether the limit is reached.
create table limit_checks (
  link_id uuid primary key,
  -- null when there is nothing to check
  changed_at timestamptz(3),
  -- the ledger and the maximum for which an event is written
  noticed_ledger uuid,
  noticed_max bigint
);

create index limit_checks_due on limit_checks (changed_at) where changed_at is not null;

-- As its owner, because the role that counts clicks may not read links.
create function check_click_limits() returns trigger
language plpgsql security definer set search_path = pg_catalog, public as $$
begin
  insert into limit_checks as due (link_id, changed_at)
  select link.id, clock_timestamp()
    from changed join former on former.link_id = changed.link_id join links link on link.id = changed.link_id
   where link.extras ? 'max_clicks'
     and (changed.clicks, changed.bot_clicks) is distinct from (former.clicks, former.bot_clicks)
   order by link.id
  on conflict (link_id) do update set changed_at = excluded.changed_at;
  return null;
end
$$;

create trigger link_counters_check_limits after update on link_counters
  referencing old table as former new table as changed for each statement execute function check_click_limits();

-- Gives positions to committed events of an account and mode that have none, at most 5,000; readers call it before they
-- read. Returns whether more may be waiting.
--
-- Transactions commit in another order than they write, so a number drawn while writing could appear below one that has been
-- read. These are given after the commit and under a lock, which ends when they are visible: whoever sees a position sees
-- all lower ones, for good. They are no less than the time in microseconds, so that they go on above those that readers
-- know when this database is restored from a backup.
create function number_events(p_account_id uuid, p_mode text) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, public as $$
declare
  v_max constant integer := 5000;
  v_first bigint;
  v_numbered integer;
begin
  if not exists (
    select from events where account_id = p_account_id and mode = p_mode and position is null
  ) then
    return false;
  end if;
  perform pg_advisory_xact_lock(hashtextextended(p_account_id::text || p_mode, 3));
  -- Each statement of this function sees what had been committed when it began.
  select greatest(
           coalesce((select max(position) from events
                      where account_id = p_account_id and mode = p_mode and position is not null), 0) + 1,
           coalesce((select position from event_floors where account_id = p_account_id and mode = p_mode), 0) + 1,
           floor(extract(epoch from clock_timestamp()) * 1000000)::bigint)
    into v_first;
  update events set position = v_first + waiting.place - 1
    from (select id, row_number() over (order by sequence) as place
            from (select id, sequence from events
                   where account_id = p_account_id and mode = p_mode and position is null
                   order by sequence limit v_max) oldest) waiting
   where events.id = waiting.id;
  get diagnostics v_numbered = row_count;
  return v_numbered = v_max;
end
$$;

-- Deletes events that are older than a number of days, at most p_max, and returns how many. Ids begin with their time in
-- milliseconds. Nothing else deletes or changes events, so no process can remove what it did from the ledger. Those that
-- nobody has numbered are above every position that has been read.
create function delete_old_events(p_days integer, p_max integer) returns integer
language plpgsql volatile security definer set search_path = pg_catalog, public as $$
declare
  v_deleted integer;
begin
  if p_days < 1 then raise exception 'Events are kept for a day at least.'; end if;
  with old as materialized (
    select id from events
     where id < rpad(
       lpad(to_hex(floor(extract(epoch from clock_timestamp() - make_interval(days => p_days)) * 1000)::bigint), 12, '0'),
       32, '0')::uuid
     order by id limit p_max
  ), deleted as (
    delete from events using old where events.id = old.id
    returning events.account_id, events.mode,
              coalesce(position, floor(extract(epoch from clock_timestamp()) * 1000000)::bigint) as position
  ), floors as (
    insert into event_floors as floor (account_id, mode, position)
    select account_id, mode, max(position) from deleted group by account_id, mode order by account_id, mode
    on conflict (account_id, mode) do update set position = greatest(floor.position, excluded.position)
  )
  select count(*) into v_deleted from deleted;
  return v_deleted;
end
$$;

-- For the roles that change links, and those that count their clicks, whatever they are called.
revoke execute on function number_events(uuid, text), delete_old_events(integer, integer), check_click_limits() from public;
do $$
declare role text;
begin
  for role in
    select distinct acl.grantee::regrole::text from pg_class, aclexplode(relacl) acl
     where pg_class.oid in ('events'::regclass, 'link_counters'::regclass)
       and acl.grantee not in (0, relowner)
  loop
    execute format('revoke update, delete, truncate on events from %s', role);
    execute format('revoke insert, update, delete, truncate on event_floors from %s', role);
    execute format('grant select, insert on events to %s', role);
    execute format('grant select on event_readers to %s', role);
    execute format('grant select, update on event_progress to %s', role);
    execute format('grant execute on function number_events(uuid, text) to %s', role);
  end loop;
  for role in
    select distinct acl.grantee::regrole::text from pg_class, aclexplode(relacl) acl
     where pg_class.oid = 'events'::regclass and acl.grantee not in (0, relowner)
       and has_table_privilege(acl.grantee, 'links', 'DELETE')
  loop
    execute format('grant execute on function delete_old_events(integer, integer) to %s', role);
  end loop;
end
$$;
