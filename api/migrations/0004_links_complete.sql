-- Answers to requests that create something, kept so that a repeat of one is answered, not done again.

create table idempotency_keys (
  account_id uuid not null references accounts (id),
  mode text not null,
  -- SHA-256 of the client's key, and of the request it came with
  key_hash bytea not null,
  request_hash bytea not null,
  -- the id of what is made: a second run of a request that a crash cut off makes the same thing
  resource_id uuid not null,
  created_at timestamptz(3) not null default clock_timestamp(),
  -- until when the process that has the request is waited for
  claimed_until timestamptz(3) not null,
  -- encrypted under a key that only the client's own request gives
  answer bytea,
  primary key (account_id, mode, key_hash)
);

create index idempotency_keys_by_age on idempotency_keys (created_at);

-- How many links an account has, so that a list's total is not counted anew with every page.

create table link_totals (
  account_id uuid not null,
  mode text not null,
  links bigint not null,
  primary key (account_id, mode)
);

create function count_links() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into link_totals as total (account_id, mode, links)
    select account_id, mode, count(*) from changed group by account_id, mode
    on conflict (account_id, mode) do update set links = total.links + excluded.links;
  else
    update link_totals total set links = total.links - gone.links
      from (select account_id, mode, count(*) as links from changed group by account_id, mode) gone
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

-- The triggers have locked the table against writes until this is committed.
insert into link_totals (account_id, mode, links)
select account_id, mode, count(*) from links group by account_id, mode;

create index links_by_domain on links (domain_id) where domain_id is not null;

create extension if not exists pg_trgm;
create extension if not exists btree_gin;

-- Spends several requests from an endpoint's window alone: all of them, or none when it has not as
-- many left. For requests that do at once what others do one by one.
create function spend_endpoint(
  p_account_id uuid, p_mode text, p_endpoint text, p_wanted integer,
  out granted boolean, out allowed integer, out seconds integer, out spent integer, out resets_ms float8,
  out now_ms float8
) language plpgsql as $$
declare
  e record;
  v_now timestamptz;
begin
  -- The lock under which every window of the account and mode is spent.
  perform from plan_windows pw where pw.account_id = p_account_id and pw.mode = p_mode for update;
  v_now := clock_timestamp();
  select coalesce((account.limits -> 'endpoints' ->> l.endpoint)::integer, l.allowed) as allowed, l.seconds,
         coalesce(w.opened_at, v_now) as opened_at, coalesce(w.spent, 0) as spent
    into strict e
    from accounts account
    join endpoint_limits l on l.endpoint = p_endpoint
    left join endpoint_windows w
      on w.account_id = account.id and w.mode = p_mode and w.endpoint = l.endpoint
     and w.opened_at > v_now - make_interval(secs => l.seconds)
   where account.id = p_account_id;
  granted := e.spent + p_wanted <= e.allowed;
  if granted then
    e.spent := e.spent + p_wanted;
    insert into endpoint_windows as ew (account_id, mode, endpoint, opened_at, spent)
    values (p_account_id, p_mode, p_endpoint, e.opened_at, e.spent)
    on conflict on constraint endpoint_windows_pkey
       do update set opened_at = excluded.opened_at, spent = excluded.spent;
  end if;
  allowed := e.allowed;
  seconds := e.seconds;
  spent := e.spent;
  resets_ms := extract(epoch from e.opened_at) * 1000 + e.seconds * 1000;
  now_ms := extract(epoch from v_now) * 1000;
end
$$;
