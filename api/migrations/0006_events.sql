-- The ledger of events: what happens to what an account owns. A row is written in the transaction of the change that it
-- records, and never changes afterwards, except that it gets its position and hash.
create table events (
  id uuid primary key,
  -- zeros for the ledger of the installation itself: what operators do that concerns no account
  account_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  type text not null check (length(type) between 1 and 50),
  -- the link, domain, key, user or share that it is about
  object_id uuid,
  -- also for what is about a link without being a change of it
  link_id uuid,
  data jsonb not null,
  -- who caused it: {"type": "api_key" | "user" | "share" | "operator" | "system", "id": …}
  actor jsonb not null,
  -- from where, and by which request: {"network": …, "request_id": …}; null without a request
  origin jsonb,
  occurred_at timestamptz(3) not null default clock_timestamp(),
  -- The order in which changes were written. Changes of one link hold its lock until they commit, so theirs is the order in
  -- which they happened, whatever the clock does.
  sequence bigint not null generated always as identity,
  -- Its place in the feed of its account and mode; null until somebody reads the feed: see number_events.
  position bigint,
  -- of this entry and, by the one before it, of all before it in its feed; given with the position
  hash bytea,
  -- so that a page can be bounded without reading what does not fit into it
  bytes integer not null generated always as (octet_length(data::text)) stored
);

create unique index events_by_position on events (account_id, mode, position) where position is not null;

create index events_unnumbered on events (account_id, mode, sequence) where position is null;

-- The highest position that retention has deleted, of feeds of which it has deleted any. Whoever has read less has missed
-- events, and is told so. The chain of hashes begins with its hash, which the API signs.
create table event_floors (
  account_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  position bigint not null,
  hash bytea not null,
  signature text,
  primary key (account_id, mode)
);

-- Where the chain of hashes of each feed ends: an entry that is missing at the end is noticed, too.
create table event_heads (
  account_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  position bigint not null,
  hash bytea not null,
  primary key (account_id, mode)
);

-- The last entry of each run of entries that an erasure has taken out of a feed: the chain of hashes goes on behind it. The
-- owner writes them, signed like a floor.
create table event_cuts (
  account_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  position bigint not null,
  -- the position of the entry before the run, 0 without one
  after bigint not null,
  hash bytea not null,
  signature text not null,
  primary key (account_id, mode, position)
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

-- What the hash of an entry covers, beside the hash of the one before it.
create function event_text(event events, p_position bigint) returns text
language sql stable as $$
  select jsonb_build_array(
    event.id, event.account_id, event.mode, p_position, event.type, event.object_id, event.link_id, event.data, event.actor,
    event.origin, floor(extract(epoch from event.occurred_at) * 1000)::bigint)::text
$$;

create function next_event_hash(state bytea, p_previous bytea, p_text text) returns bytea
language sql immutable as $$
  select sha256(coalesce(state, p_previous) || convert_to(p_text, 'UTF8'))
$$;

-- The hash of a run of entries after the one with a hash.
create aggregate event_chain(bytea, text) (sfunc = next_event_hash, stype = bytea);

-- Gives positions and hashes to committed events of an account and mode that have none, at most 5,000; readers call it
-- before they read, and the API once a minute. Returns whether more may be waiting.
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
  v_previous bytea;
begin
  if not exists (
    select from events where account_id = p_account_id and mode = p_mode and position is null
  ) then
    return false;
  end if;
  perform pg_advisory_xact_lock(hashtextextended(p_account_id::text || p_mode, 3));
  -- Each statement of this function sees what had been committed when it began.
  select greatest(
           coalesce((select position from event_heads where account_id = p_account_id and mode = p_mode), 0) + 1,
           floor(extract(epoch from clock_timestamp()) * 1000000)::bigint)
    into v_first;
  v_previous := coalesce(
    (select hash from event_heads where account_id = p_account_id and mode = p_mode), ''::bytea);
  update events set position = numbered.place, hash = numbered.hash
    from (select (waiting.event).id, place,
                 event_chain(v_previous, event_text(waiting.event, place)) over (order by place) as hash
            from (select event, v_first + row_number() over (order by (oldest.event).sequence) - 1 as place
                    from (select event from events event
                           where account_id = p_account_id and mode = p_mode and position is null
                           order by sequence limit v_max) oldest) waiting) numbered
   where events.id = numbered.id;
  get diagnostics v_numbered = row_count;
  insert into event_heads (account_id, mode, position, hash)
  select account_id, mode, position, hash from events
   where account_id = p_account_id and mode = p_mode and position is not null
   order by position desc limit 1
  on conflict (account_id, mode) do update set position = excluded.position, hash = excluded.hash;
  return v_numbered = v_max;
end
$$;

-- The lowest id of an event of so many days ago: ids begin with their time in milliseconds.
create function lowest_event_id(p_days integer) returns uuid language sql stable as $$
  select rpad(
    lpad(to_hex(floor(extract(epoch from clock_timestamp() - make_interval(days => p_days)) * 1000)::bigint), 12, '0'),
    32, '0')::uuid
$$;

-- Deletes events that are older than a number of days, those of the installation after another, at most about p_max, and returns
-- how many of each feed, with its new floor. Beside it only the owner deletes events, in an erasure, so no process can
-- remove what it did from the ledger. What is deleted is the beginning of a feed, so that the rest of its chain of hashes stays whole.
create function delete_old_events(p_days integer, p_audit_days integer, p_max integer)
returns table (account_id uuid, mode text, "position" bigint, hash bytea, deleted integer)
language plpgsql volatile security definer set search_path = pg_catalog, public as $$
#variable_conflict use_column
declare
  v_installation constant uuid := '00000000-0000-0000-0000-000000000000';
  v_days_limit constant uuid := lowest_event_id(p_days);
  v_audit_limit constant uuid := lowest_event_id(p_audit_days);
  v_limit uuid;
  v_total integer := 0;
  v_feed record;
  v_kept bigint;
begin
  if least(p_days, p_audit_days) < 1 then raise exception 'Events are kept for a day at least.'; end if;
  for v_feed in
    select distinct old.account_id, old.mode
      from (select account_id, mode from events
             where id < greatest(v_days_limit, v_audit_limit)
               and id < case when account_id = v_installation then v_audit_limit else v_days_limit end
             order by id limit p_max) old
     order by 1, 2
  loop
    v_limit := case when v_feed.account_id = v_installation then v_audit_limit else v_days_limit end;
    exit when v_total >= p_max;
    while number_events(v_feed.account_id, v_feed.mode) loop end loop;
    select min(position) into v_kept from events
     where account_id = v_feed.account_id and mode = v_feed.mode and position is not null and id >= v_limit;
    with old as materialized (
      select id from events
       where account_id = v_feed.account_id and mode = v_feed.mode and position < coalesce(v_kept, 9223372036854775807)
       order by position limit p_max - v_total
    ), gone as (
      delete from events using old where events.id = old.id returning events.position, events.hash
    )
    select count(*)::integer, max(gone.position),
           (select last.hash from gone last order by last.position desc limit 1)
      into deleted, position, hash from gone;
    continue when deleted = 0;
    account_id := v_feed.account_id;
    mode := v_feed.mode;
    insert into event_floors as floor (account_id, mode, position, hash)
    values (v_feed.account_id, v_feed.mode, position, hash)
    on conflict (account_id, mode) do update set position = excluded.position, hash = excluded.hash, signature = null;
    delete from event_cuts cut
     where cut.account_id = v_feed.account_id and cut.mode = v_feed.mode and cut.position <= delete_old_events.position;
    v_total := v_total + deleted;
    return next;
  end loop;
end
$$;
revoke execute on function number_events(uuid, text), delete_old_events(integer, integer, integer), check_click_limits() from public;

-- Where events of an account and mode are delivered to.
create table webhooks (
  id uuid primary key,
  account_id uuid not null references accounts (id) on delete cascade,
  mode text not null check (mode in ('live', 'test')),
  url text not null,
  -- as they are, or as messages that chats understand
  format text not null default 'standard' check (format in ('standard', 'slack', 'discord')),
  -- types of events, or only '*' for all
  events text[] not null,
  -- Of events about links only those about one of these; null for all.
  link_ids uuid[],
  tags text[],
  domains text[],
  description text,
  -- What the secret is derived from, together with a secret that no database has (shared/webhooks.ts).
  salt bytea not null check (octet_length(salt) = 16),
  -- The same of the secret before, which is valid until then.
  old_salt bytea check (octet_length(old_salt) = 16),
  old_until timestamptz(3),
  status text not null default 'active' check (status in ('active', 'paused', 'disabled')),
  disabled_reason text check (disabled_reason in ('gone', 'failing')),
  -- null unless it is disabled
  disabled_at timestamptz(3),
  -- Events up to this position have deliveries, as far as they are for this webhook.
  position bigint not null,
  -- Since when every attempt has failed; null when the last one was successful.
  failing_since timestamptz(3),
  -- When the next delivery is due, apart from new events.
  wake_at timestamptz(3) not null default 'infinity',
  -- Whether as many deliveries wait as may: new events then have none yet.
  is_full boolean not null default false,
  -- Whether the receiver took long recently: workers then deliver one event at a time to it, apart from the others.
  is_slow boolean not null default false,
  -- Whether a delivery to this URL was ever successful: before, it may be the address of someone who asked for nothing.
  is_wanted boolean not null default false,
  -- The worker that delivers, and until when the others leave the webhook to it.
  leased_by uuid,
  leased_until timestamptz(3) not null default '-infinity',
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);

create index webhooks_by_account on webhooks (account_id, mode, created_at desc, id desc);

-- Those that were disabled recently, for the mails about them.
create index webhooks_disabled on webhooks (disabled_at) where disabled_at is not null;

create function note_webhook_disabled() returns trigger language plpgsql as $$
begin
  new.disabled_at := case when new.status = 'disabled' then clock_timestamp() end;
  return new;
end
$$;

create trigger webhooks_note_disabled before update of status on webhooks
  for each row when (new.status <> old.status) execute function note_webhook_disabled();

-- An event for a webhook, and what came of it.
create table webhook_deliveries (
  id uuid primary key,
  webhook_id uuid not null references webhooks (id) on delete cascade,
  event_id uuid not null,
  event_type text not null,
  -- the event's; deliveries are made in this order
  position bigint not null,
  -- Those with the same key wait for each other: the event's link, or else its object.
  order_key uuid,
  -- Of an event with clicks of many links: those whose clicks are for this webhook; null for all.
  link_ids uuid[],
  status text not null default 'pending' check (status in ('pending', 'delivered', 'failed')),
  attempts integer not null default 0,
  -- null unless pending
  next_attempt_at timestamptz(3),
  last_attempt_at timestamptz(3),
  latency_ms integer,
  -- the status and the first KiB of the body of the last response
  response_status integer,
  response_body text,
  -- why there was no response, for programs and for people
  error_code text,
  error text,
  created_at timestamptz(3) not null default now(),
  unique (webhook_id, event_id)
);

create index webhook_deliveries_pending on webhook_deliveries (webhook_id, position) where status = 'pending';

create index webhook_deliveries_by_webhook on webhook_deliveries (webhook_id, created_at desc, id desc);

create index webhook_deliveries_by_age on webhook_deliveries (created_at);

-- The tags and the host of links, without access to links: null for a host of the service's own. Workers select events by them.
create function webhook_links(p_ids uuid[]) returns table (id uuid, tags text[], host text)
language sql stable security definer set search_path = pg_catalog, public as $$
  select links.id, links.tags, domains.host
    from links left join domains on domains.id = links.domain_id where links.id = any (p_ids)
$$;

revoke execute on function webhook_links(uuid[]) from public;

-- What an event costs the account's budget of bytes (shared/budgets.ts, ledger_bytes): its row, and one
-- of a delivery for each webhook that gets it, with what their indexes take.
create function ledger_cost(p_account_id uuid, p_mode text, p_type text, p_bytes integer) returns bigint
language sql stable as $$
  select 512 + p_bytes + 1024 * count(*)
    from webhooks
   where account_id = p_account_id and mode = p_mode and status <> 'disabled' and events && array['*', p_type];
$$;

-- Bytes of events of clicks that accounts got today (UTC), and clicks that were left out beyond what their plan
-- allows (shared/budgets.ts, click_event_bytes): strangers decide how many clicks there are.
create table click_event_days (
  account_id uuid not null references accounts (id) on delete cascade,
  mode text not null check (mode in ('live', 'test')),
  day date not null,
  bytes bigint not null default 0,
  -- clicks that no event has said to be left out yet, since when, and when one was last written
  left_out bigint not null default 0,
  since timestamptz(3),
  reported_at timestamptz(3) not null default '-infinity',
  primary key (account_id, mode)
);

create index click_event_days_left_out on click_event_days (reported_at) where left_out > 0;

-- Writes events of clicks that are not there yet, as many as the accounts may have today; p_bounds has the bytes of
-- each plan. Clicks beyond are counted, and at most once an hour an event says how many there were.
create function record_click_events(p_events jsonb, p_bounds jsonb) returns void
language plpgsql volatile security definer set search_path = pg_catalog, public as $$
declare v_today date := (clock_timestamp() at time zone 'UTC')::date;
begin
  insert into click_event_days as known (account_id, mode, day)
  select distinct account.id, event ->> 'mode', v_today
    from jsonb_array_elements(p_events) event join accounts account on account.id = (event ->> 'account_id')::uuid
  on conflict (account_id, mode) do update
     set day = v_today, bytes = 0
   where known.day <> v_today;

  with given as materialized (
    select (event ->> 'id')::uuid as id, (event ->> 'account_id')::uuid as account_id, event ->> 'mode' as mode,
           event -> 'data' as data, place, jsonb_array_length(event -> 'data' -> 'clicks') as clicks,
           ledger_cost((event ->> 'account_id')::uuid, event ->> 'mode', 'clicks.recorded',
                       octet_length(event ->> 'data')) as cost
      from jsonb_array_elements(p_events) with ordinality as given (event, place)
  ), summed as materialized (
    select given.*, sum(cost) over (partition by account_id order by place) - cost as earlier from given
  ), judged as materialized (
    select summed.*,
           earlier + (select sum(bytes) from click_event_days days
                       where days.account_id = summed.account_id and days.day = v_today)
             < coalesce(p_bounds ->> account.plan, p_bounds ->> 'free')::numeric as fits
      from summed join accounts account on account.id = summed.account_id
  ), inserted as (
    insert into events (id, account_id, mode, type, data, actor)
    select id, account_id, mode, 'clicks.recorded', data, '{"type": "system"}' from judged where fits order by place
    on conflict do nothing
  )
  update click_event_days days
     set bytes = days.bytes + taken.bytes, left_out = days.left_out + taken.left_out,
         since = case when taken.left_out > 0 then coalesce(days.since, clock_timestamp()) else days.since end
    from (select account_id, mode, coalesce(sum(cost) filter (where fits), 0) as bytes,
                 coalesce(sum(clicks) filter (where not fits), 0) as left_out
            from judged group by account_id, mode) taken
   where (days.account_id, days.mode) = (taken.account_id, taken.mode);

  with due as materialized (
    select account_id, mode, left_out, since from click_event_days
     where left_out > 0 and reported_at < clock_timestamp() - interval '1 hour' for update
  ), reported as (
    insert into events (id, account_id, mode, type, data, actor)
    select gen_random_uuid(), account_id, mode, 'clicks.left_out',
           jsonb_build_object('clicks', left_out, 'since', to_char(since at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
           '{"type": "system"}'
      from due
  )
  update click_event_days days set left_out = 0, since = null, reported_at = clock_timestamp()
    from due where (days.account_id, days.mode) = (due.account_id, due.mode);
end
$$;
revoke execute on function record_click_events(jsonb, jsonb) from public;
