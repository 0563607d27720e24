-- The links log: how changes of links get to the redirectors.

-- Versions of all links come from one sequence: a number is that of one state of one link.
create sequence link_version as bigint;

-- Draws a version: the next one, but no less than the time in microseconds. A database that was restored from a backup, or
-- a standby that lacks the last transactions, would otherwise draw versions that clients and redirectors have seen already.
-- The caller holds the lock of the alias, so the versions of an alias ascend also where two callers set the sequence at once.
-- As its owner, because processes may not set the sequence.
create function next_link_version() returns bigint
language plpgsql volatile security definer set search_path = pg_catalog, public as $$
declare
  drawn bigint := nextval('public.link_version');
  micros bigint := floor(extract(epoch from clock_timestamp()) * 1000000);
begin
  if drawn >= micros then return drawn; end if;
  if (select last_value from public.link_version) < micros then
    perform setval('public.link_version', micros);
  end if;
  return micros;
end
$$;

-- Draws ascending versions: the first as above, the others from there, which takes a tenth of the time each.
create function next_link_versions(p_count integer) returns setof bigint
language plpgsql volatile security definer set search_path = pg_catalog, public as $$
begin
  if p_count < 1 then return; end if;
  return next public.next_link_version();
  return query select nextval('public.link_version') from generate_series(2, p_count);
end
$$;

revoke execute on function next_link_version(), next_link_versions(integer) from public;

-- States of links that are no entries of the log yet, as the text that is published.
create table link_outbox (
  id bigint generated always as identity primary key,
  domain text not null,
  alias text not null,
  state text not null,
  created_at timestamptz(3) not null default now()
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

-- What waits in the outbox becomes entries, each of which names the one before it by its hash. An entry is kept as the
-- bytes of its message, so that whoever publishes it again publishes the same (shared/links-log/entries.ts).
create table link_log_head (
  only_row boolean primary key default true check (only_row),
  -- identifies this database, its dumps and its copies
  database uuid not null default gen_random_uuid(),
  term bigint not null default 1,
  -- of the last entry; the first one follows a hash that no store has, as entries need not have all links
  position bigint not null default 0,
  hash text not null default encode(sha256(gen_random_uuid()::text::bytea), 'hex'),
  -- the last entry that the tail has acknowledged
  acknowledged_term bigint,
  acknowledged_position bigint,
  -- when a host was last answered that asked for a snapshot
  answered_at timestamptz(3),
  -- whether the outbox may have had more than the last call moved
  has_more boolean not null default false
);
insert into link_log_head default values;

-- Entries until an hour after they were acknowledged. Positions ascend also from term to term.
create table link_log (
  position bigint primary key,
  term bigint not null,
  hash text not null,
  bytes bytea not null,
  created_at timestamptz(3) not null default now()
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

-- Adds an entry with these lines after a head, whose row the caller has locked; returns the new head.
create function append_link_log(head link_log_head, lines text) returns link_log_head
language plpgsql set search_path = pg_catalog, public as $$
declare
  entry bytea;
begin
  -- Positions do not identify entries, so they may follow a clock that is wrong: with the time in them, those of a
  -- database that was restored differ from those that it lost.
  head.position := greatest(head.position + 1, floor(extract(epoch from clock_timestamp()) * 1000000)::bigint);
  entry := convert_to(
    format('{"format":1,"database":"%s","term":%s,"position":%s,"previous":"%s"}', head.database, head.term, head.position, head.hash)
      || lines,
    'UTF8');
  head.hash := encode(sha256(entry), 'hex');
  insert into public.link_log (position, term, hash, bytes) values (head.position, head.term, head.hash, entry);
  return head;
end
$$;

-- Moves what waits in the outbox into the log, above a term if one is given; adds an empty entry, a heartbeat, when nothing
-- waits and one is wanted. Returns the head. A statement by itself: what commits after it has begun is moved by the next.
create function number_link_log(above bigint, heartbeat boolean) returns link_log_head
language plpgsql set search_path = pg_catalog, public as $$
declare
  -- An entry with several states has 32 KiB at most, of which the header has less than 256 bytes.
  lines_max constant integer := 32 * 1024 - 256;
  -- How long the head is locked is bounded by this many rows of the outbox.
  rows_max constant integer := 5000;
  head link_log_head;
  is_new_term boolean;
  moved integer := 0;
  lines text := '';
  line text;
begin
  select * into strict head from link_log_head for update;
  is_new_term := head.term <= above;
  if is_new_term then
    head.term := above + 1;
    -- Hosts of another history may have skipped takedowns of the term before.
    lock table takedowns in share row exclusive mode;
    insert into link_outbox (domain, alias, state)
    select '', '@takedowns',
           format('{"state":"deleted","version":0,"domain":"","alias":"@takedowns","takedowns":{"accounts":[%s],"hosts":[%s]}}',
                  string_agg(to_json(subject)::text, ',' order by subject) filter (where kind = 'account'),
                  string_agg(to_json(subject)::text, ',' order by subject) filter (where kind = 'host'))
      from takedowns;
  end if;
  -- Of each link the last state: earlier ones may have been published before this database was restored. Rows of a link are
  -- in the order of its changes, as these hold the lock of the alias.
  for line in
    with waiting as (
      delete from link_outbox where id in (select id from link_outbox order by id limit rows_max)
      returning id, domain, alias, state
    ), latest as (
      select distinct on (domain, alias) id, state from waiting order by domain, alias, id desc
    )
    select E'\n' || state from latest order by id
  loop
    if lines <> '' and octet_length(lines) + octet_length(line) > lines_max then
      head := append_link_log(head, lines);
      lines := '';
    end if;
    lines := lines || line;
    moved := moved + 1;
  end loop;
  if lines <> '' or (moved = 0 and (is_new_term or heartbeat)) then
    head := append_link_log(head, lines);
  end if;
  head.has_more := moved > 0 and exists (select from link_outbox);
  update link_log_head
     set term = head.term, position = head.position, hash = head.hash, has_more = head.has_more
   where link_log_head.hash <> head.hash or link_log_head.has_more <> head.has_more;
  return head;
end
$$;
