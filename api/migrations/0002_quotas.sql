-- Quotas: what an account may create in a day and hold at once, whether by API or dashboard.

create table quotas (
  name text primary key,
  -- Length of the window; null for what is held at once.
  seconds integer check (seconds > 0),
  -- False for what belongs to the account as a whole, which is counted under the mode live.
  by_mode boolean not null,
  position integer not null
);

insert into quotas (name, seconds, by_mode, position) values
  ('links_per_day', 86400, true, 1),
  ('invitations_per_day', 86400, false, 2),
  ('domains', null, true, 3),
  ('api_keys', null, true, 4),
  ('live_streams', null, true, 5);

create table plan_quotas (
  plan text not null references plans (name),
  quota text not null references quotas (name),
  allowed integer not null check (allowed > 0),
  primary key (plan, quota)
);

-- Values of an account's own are in accounts.limits: {"quotas": {"domains": n, …}}. Those of the
-- enterprise plan stand for what such an account leaves out.
insert into plan_quotas (plan, quota, allowed) values
  ('free', 'links_per_day', 2400),
  ('free', 'invitations_per_day', 20),
  ('free', 'domains', 10),
  ('free', 'api_keys', 10),
  ('free', 'live_streams', 3),
  ('pro', 'links_per_day', 20000),
  ('pro', 'invitations_per_day', 50),
  ('pro', 'domains', 100),
  ('pro', 'api_keys', 50),
  ('pro', 'live_streams', 10),
  ('business', 'links_per_day', 200000),
  ('business', 'invitations_per_day', 200),
  ('business', 'domains', 1000),
  ('business', 'api_keys', 200),
  ('business', 'live_streams', 30),
  ('enterprise', 'links_per_day', 2000000),
  ('enterprise', 'invitations_per_day', 200),
  ('enterprise', 'domains', 1000),
  ('enterprise', 'api_keys', 200),
  ('enterprise', 'live_streams', 30);

-- Open windows of quotas. Logged, unlike those of requests: they are written with what is created, which
-- is logged as well, and a crash should not give an account its day again.
create table quota_windows (
  account_id uuid not null references accounts (id) on delete cascade,
  mode text not null,
  quota text not null,
  opened_at timestamptz not null default '-infinity',
  used integer not null default 0,
  primary key (account_id, mode, quota)
) with (fillfactor = 50);

-- Live streams that are open, each leased for a while by the process that serves it: what a killed
-- process held is free again when its leases end. Unlogged: after a crash of the server the streams are
-- ended, as their leases are gone.
create unlogged table stream_leases (
  id uuid primary key,
  account_id uuid not null,
  mode text not null,
  expires_at timestamptz not null
);

create index stream_leases_by_account on stream_leases (account_id, mode);

-- How many an account is allowed of each quota, its own value or its plan's, and the windows' lengths. No
-- day's quota of links is below what the hourly limit of POST /v1/links allows within the day.
create function quota_limits(p_account_id uuid)
returns table (quota text, allowed integer, seconds integer, by_mode boolean, "position" integer)
language sql stable as $$
  select q.name,
         case when own.allowed is not null or hourly.endpoint is null then coalesce(own.allowed, pq.allowed)
              else least(2147483647, greatest(
                pq.allowed, coalesce(own.hourly, hourly.allowed) * (q.seconds / hourly.seconds)))::integer end,
         q.seconds, q.by_mode, q.position
    from accounts account
    join plan_quotas pq on pq.plan = account.plan
    join quotas q on q.name = pq.quota
    left join endpoint_limits hourly on pq.quota = 'links_per_day' and hourly.endpoint = 'POST /v1/links'
   cross join lateral (
     select (account.limits -> 'quotas' ->> pq.quota)::integer as allowed,
            (account.limits -> 'endpoints' ->> hourly.endpoint)::bigint as hourly
   ) as own
   where account.id = p_account_id
$$;

-- One of them. In PL/pgSQL, because that keeps its plans, and every creation waits for it.
create function quota_limit(p_account_id uuid, p_quota text, out allowed integer, out seconds integer)
language plpgsql stable as $$
begin
  select l.allowed, l.seconds into strict allowed, seconds
    from quota_limits(p_account_id) l where l.quota = p_quota;
end
$$;

-- How many an account holds of what has no window. A key that has expired or been revoked does not
-- count, nor does one that was rotated and is in its grace: the key that replaces it does.
create function quota_held(p_account_id uuid, p_mode text, p_quota text) returns integer
language plpgsql stable as $$
begin
  return case p_quota
    when 'domains' then (
      select count(*) from domains where account_id = p_account_id and mode = p_mode)
    when 'api_keys' then (
      select count(*) from api_keys
       where account_id = p_account_id and mode = p_mode and revoked_at is null
         and (expires_at is null or expires_at > clock_timestamp()))
    when 'live_streams' then (
      select count(*) from stream_leases
       where account_id = p_account_id and mode = p_mode and expires_at > clock_timestamp())
  end;
end
$$;

-- Consumes from the window of a quota: all that is wanted, or nothing. Called in the statement or the
-- transaction that creates, so that what is not created is not consumed either. The row is locked until
-- that ends: creations of one account and mode follow one another, across all processes.
create function consume_quota(
  p_account_id uuid, p_mode text, p_quota text, p_wanted integer,
  out granted boolean, out allowed integer, out seconds integer, out used integer, out resets_ms float8,
  out now_ms float8
) language plpgsql as $$
declare
  l record;
  w quota_windows;
  v_now timestamptz;
begin
  l := quota_limit(p_account_id, p_quota);
  allowed := l.allowed;
  seconds := l.seconds;
  loop
    -- One that waited for the row here sees it as it was left, and counts into the window that is open.
    v_now := clock_timestamp();
    update quota_windows qw
       set opened_at = case when qw.opened_at > v_now - make_interval(secs => l.seconds)
                            then qw.opened_at else v_now end,
           used = case when qw.opened_at > v_now - make_interval(secs => l.seconds)
                       then qw.used else 0 end + p_wanted
     where qw.account_id = p_account_id and qw.mode = p_mode and qw.quota = p_quota
       and p_wanted <= l.allowed
       and (qw.used + p_wanted <= l.allowed
            or qw.opened_at <= v_now - make_interval(secs => l.seconds))
    returning * into w;
    granted := found;
    exit when granted;
    select * into w from quota_windows qw
     where qw.account_id = p_account_id and qw.mode = p_mode and qw.quota = p_quota for update;
    if not found then
      insert into quota_windows (account_id, mode, quota) values (p_account_id, p_mode, p_quota)
      on conflict do nothing;
      continue;
    end if;
    v_now := clock_timestamp();
    if w.opened_at <= v_now - make_interval(secs => l.seconds) then
      w.opened_at := v_now;
      w.used := 0;
    end if;
    -- Otherwise there is room after all: another creation inserted the row after the UPDATE had looked for
    -- it, or the window has closed since. The row is locked now, so the next UPDATE finds it like this.
    exit when w.used + p_wanted > l.allowed;
  end loop;
  used := w.used;
  resets_ms := extract(epoch from w.opened_at) * 1000 + seconds * 1000;
  now_ms := extract(epoch from v_now) * 1000;
end
$$;

-- Whether an account may hold one more of what has no window. Until the transaction ends, nobody else
-- finds out: what is counted is what is there when it is added.
create function claim_quota(
  p_account_id uuid, p_mode text, p_quota text,
  out granted boolean, out allowed integer, out used integer
) language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended(p_account_id::text || p_mode || p_quota, 2));
  allowed := (quota_limit(p_account_id, p_quota)).allowed;
  used := quota_held(p_account_id, p_mode, p_quota);
  granted := used < allowed;
end
$$;

-- All quotas of an account and mode, as they stand; consumes nothing. Planned as `rate_limits_of` is.
create function quotas_of(p_account_id uuid, p_mode text)
returns table (name text, allowed integer, seconds integer, used integer, resets_ms float8)
language plpgsql stable set plan_cache_mode = force_generic_plan as $$
begin
  return query
  select l.quota,
         l.allowed,
         l.seconds,
         case when l.seconds is null then quota_held(p_account_id, scope.mode, l.quota)
              else coalesce(w.used, 0) end,
         case when l.seconds is not null
              then (extract(epoch from coalesce(w.opened_at, clock_timestamp())
                                       + make_interval(secs => l.seconds)) * 1000)::float8 end
    from quota_limits(p_account_id) l
   cross join lateral (select case when l.by_mode then p_mode else 'live' end as mode) scope
    left join quota_windows w
      on w.account_id = p_account_id and w.mode = scope.mode and w.quota = l.quota
     and w.opened_at > clock_timestamp() - make_interval(secs => l.seconds)
   order by l.position;
end
$$;
