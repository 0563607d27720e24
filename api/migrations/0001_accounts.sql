-- Who may call the API, with which keys, how often.

create table plans (
  name text primary key,
  per_second integer not null check (per_second > 0),
  per_minute integer not null check (per_minute > 0),
  per_day integer not null check (per_day > 0)
);

-- An enterprise account brings numbers of its own; these stand for those it leaves out.
insert into plans (name, per_second, per_minute, per_day) values
  ('free', 10, 60, 1000),
  ('pro', 50, 300, 10000),
  ('business', 100, 1000, 100000),
  ('enterprise', 100, 1000, 100000);

-- Windows that single endpoints have beside those of the plan.
create table endpoint_limits (
  endpoint text primary key,
  allowed integer not null check (allowed > 0),
  seconds integer not null check (seconds > 0)
);

insert into endpoint_limits (endpoint, allowed, seconds) values
  ('POST /v1/links', 100, 3600),
  ('POST /v1/analytics/bulk', 10, 60),
  ('GET /v1/analytics/*', 120, 60),
  ('POST /v1/domains', 10, 3600);

create table accounts (
  id uuid primary key,
  name text not null,
  plan text not null references plans (name),
  -- {"minute": n, "day": n, "burst": n, "endpoints": {"POST /v1/links": n, …}}, every member optional
  limits jsonb not null default '{}',
  suspended_until timestamptz(3),
  created_at timestamptz(3) not null default now()
);

create table api_keys (
  id uuid primary key,
  account_id uuid not null references accounts (id) on delete cascade,
  name text not null,
  mode text not null check (mode in ('live', 'test')),
  -- The public part of the key, by which it is found.
  lookup text not null unique,
  -- What an owner recognises the key by: its first 12 characters.
  prefix text not null,
  -- SHA-256 of the secret part, which is 256 random bits and so needs no slow hash.
  secret_hash bytea not null check (octet_length(secret_hash) = 32),
  scopes text[] not null,
  -- CIDR blocks from which it works, in their canonical form; empty for everywhere.
  allowed_networks text[] not null default '{}',
  created_at timestamptz(3) not null default now(),
  -- An actor, as in events.
  created_by jsonb not null default '{"type": "operator"}',
  last_used_at timestamptz(3),
  -- The /24 or /48 of that client.
  last_used_network text,
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  -- The key that replaced it, which may be gone by now: who still sends a rotated key is told so.
  replaced_by uuid
);

create index api_keys_by_account on api_keys (account_id, created_at desc, id desc);

-- Keys that count toward an account's quota, however many it has revoked or let expire.
create index api_keys_active on api_keys (account_id, mode, expires_at) where revoked_at is null;

-- The open windows that an account's requests spend from: those of the plan in one row, so that a
-- request locks and writes one row, and those of endpoints in a row each. Unlogged: a crash of the
-- server forgets the open windows and nothing else, and a request writes no log record.
create unlogged table plan_windows (
  account_id uuid not null,
  mode text not null,
  burst_opened_at timestamptz not null default '-infinity',
  burst_spent integer not null default 0,
  minute_opened_at timestamptz not null default '-infinity',
  minute_spent integer not null default 0,
  day_opened_at timestamptz not null default '-infinity',
  day_spent integer not null default 0,
  -- Refusals, which throttle the account when there are too many.
  refused_opened_at timestamptz not null default '-infinity',
  refused integer not null default 0,
  primary key (account_id, mode)
) with (fillfactor = 20);

create unlogged table endpoint_windows (
  account_id uuid not null,
  mode text not null,
  endpoint text not null,
  opened_at timestamptz not null,
  spent integer not null,
  primary key (account_id, mode, endpoint)
) with (fillfactor = 20);

-- Authenticates a key, checks a scope and spends requests from every window that applies: all of it
-- in one round trip, by the database's clock. Of several requests asked for at once as many are
-- granted as every window takes; each of them spends from all windows or from none.
--
-- p_lookup, p_hash  public part of the key, and SHA-256 of its secret part
-- p_scope           the scope the endpoint asks for; null for none
-- p_endpoint        the endpoint's own window (endpoint_limits.endpoint); null for none
-- p_wanted          how many requests to spend; 0 looks and spends nothing
-- p_refused         requests that the calling process refused by itself since it last asked: refusals
--                   in ten minutes, beyond ten times the limit of a minute, throttle for ten minutes
--
-- verdict: ok, unknown, revoked, expired, forbidden, throttled, suspended (by an operator, until lifted)
-- or limited, which means that none was granted. Every verdict but unknown brings the windows, the
-- plan's first: how many requests each allows, how many are spent, and when it closes, in Unix
-- milliseconds.
create function authorize_request(
  p_lookup text, p_hash bytea, p_scope text, p_endpoint text, p_wanted integer, p_refused integer,
  p_network text,
  out verdict text, out granted integer, out key_id uuid, out account_id uuid, out mode text, out scopes text[],
  out plan text, out now_ms float8, out throttled_until_ms float8,
  out windows json
) language plpgsql as $$
declare
  k record;
  w plan_windows;
  e record;
  v_now timestamptz;
  v_nonce bytea := uuid_send(gen_random_uuid());
  v_refused integer := p_refused;
  v_burst_allowed integer;
  v_minute_allowed integer;
  v_day_allowed integer;
  v_endpoint_allowed integer;
  v_endpoint_window text := '';
begin
  select api_key.id, api_key.account_id, api_key.mode, api_key.scopes, api_key.secret_hash,
         api_key.expires_at, api_key.revoked_at, api_key.last_used_at, api_key.allowed_networks,
         account.plan, account.suspended_until, account.limits, p.per_second, p.per_minute, p.per_day
    into k
    from api_keys api_key
    join accounts account on account.id = api_key.account_id
    join plans p on p.name = account.plan
   where api_key.lookup = p_lookup;

  -- Hashing both sides with a fresh nonce makes the time of the comparison tell nothing.
  if not found or sha256(k.secret_hash || v_nonce) <> sha256(p_hash || v_nonce) then
    verdict := 'unknown';
    granted := 0;
    return;
  end if;

  -- One request of an account and mode at a time, across all API processes. The clock is read
  -- under the lock, so that a window never seems to open before the one it follows.
  loop
    select * into w from plan_windows pw
     where pw.account_id = k.account_id and pw.mode = k.mode for update;
    exit when found;
    insert into plan_windows (account_id, mode) values (k.account_id, k.mode) on conflict do nothing;
  end loop;
  v_now := clock_timestamp();

  verdict := case
    when k.revoked_at <= v_now then 'revoked'
    when k.expires_at <= v_now then 'expired'
    when k.suspended_until = 'infinity' then 'suspended'
    when p_scope is not null and not p_scope = any (k.scopes) then 'forbidden'
    when k.suspended_until > v_now and p_wanted > 0 then 'throttled'
    else 'ok'
  end;

  v_burst_allowed := k.per_second;
  v_minute_allowed := k.per_minute;
  v_day_allowed := k.per_day;
  if k.limits <> '{}' then
    v_burst_allowed := coalesce((k.limits ->> 'burst')::integer, v_burst_allowed);
    v_minute_allowed := coalesce((k.limits ->> 'minute')::integer, v_minute_allowed);
    v_day_allowed := coalesce((k.limits ->> 'day')::integer, v_day_allowed);
  end if;

  -- A window that has closed opens anew with this request.
  if w.burst_opened_at <= v_now - interval '1 second' then
    w.burst_opened_at := v_now;
    w.burst_spent := 0;
  end if;
  if w.minute_opened_at <= v_now - interval '60 seconds' then
    w.minute_opened_at := v_now;
    w.minute_spent := 0;
  end if;
  if w.day_opened_at <= v_now - interval '86400 seconds' then
    w.day_opened_at := v_now;
    w.day_spent := 0;
  end if;
  granted := least(p_wanted, v_burst_allowed - w.burst_spent, v_minute_allowed - w.minute_spent,
                   v_day_allowed - w.day_spent);

  if p_endpoint is not null then
    select l.allowed, l.seconds, ew.opened_at, coalesce(ew.spent, 0) as spent into e
      from endpoint_limits l
      left join endpoint_windows ew
        on ew.account_id = k.account_id and ew.mode = k.mode and ew.endpoint = l.endpoint
       and ew.opened_at > v_now - make_interval(secs => l.seconds)
     where l.endpoint = p_endpoint;
    e.opened_at := coalesce(e.opened_at, v_now);
    v_endpoint_allowed := coalesce((k.limits -> 'endpoints' ->> p_endpoint)::integer, e.allowed);
    granted := least(granted, v_endpoint_allowed - e.spent);
  end if;

  if verdict <> 'ok' then
    granted := 0;
  else
    -- A limit that was lowered may have been overspent already.
    granted := greatest(granted, 0);
    v_refused := v_refused + p_wanted - granted;
    if granted = 0 and p_wanted > 0 then
      verdict := 'limited';
    end if;
  end if;
  if granted > 0 then
    w.burst_spent := w.burst_spent + granted;
    w.minute_spent := w.minute_spent + granted;
    w.day_spent := w.day_spent + granted;
    if p_endpoint is not null then
      e.spent := e.spent + granted;
      insert into endpoint_windows as ew (account_id, mode, endpoint, opened_at, spent)
      values (k.account_id, k.mode, p_endpoint, e.opened_at, e.spent)
      on conflict on constraint endpoint_windows_pkey
         do update set opened_at = excluded.opened_at, spent = excluded.spent;
    end if;
  end if;

  if v_refused > 0 then
    if w.refused_opened_at <= v_now - interval '600 seconds' then
      w.refused_opened_at := v_now;
      w.refused := 0;
    end if;
    w.refused := w.refused + v_refused;
    if w.refused > 10 * v_minute_allowed
       and (k.suspended_until is null or k.suspended_until <= v_now) then
      k.suspended_until := v_now + interval '600 seconds';
      update accounts set suspended_until = k.suspended_until where id = k.account_id;
      -- What led to this throttling does not lead to the next.
      w.refused := 0;
    end if;
  end if;

  if v_refused > 0 or granted > 0 then
    update plan_windows pw
       set burst_opened_at = w.burst_opened_at, burst_spent = w.burst_spent,
           minute_opened_at = w.minute_opened_at, minute_spent = w.minute_spent,
           day_opened_at = w.day_opened_at, day_spent = w.day_spent,
           refused_opened_at = w.refused_opened_at, refused = w.refused
     where pw.account_id = k.account_id and pw.mode = k.mode;
  end if;

  -- Coarse on purpose: one logged write a minute at most, whatever the traffic. A call that the
  -- API refuses, because it is from elsewhere, is no use.
  if verdict = 'ok' and (k.last_used_at is null or k.last_used_at < v_now - interval '1 minute')
     and (k.allowed_networks = '{}' or p_network::inet && any (k.allowed_networks::inet[])) then
    update api_keys set last_used_at = v_now, last_used_network = p_network where id = k.id;
  end if;

  key_id := k.id;
  account_id := k.account_id;
  mode := k.mode;
  scopes := k.scopes;
  plan := k.plan;
  now_ms := extract(epoch from v_now) * 1000;
  throttled_until_ms := extract(epoch from nullif(k.suspended_until, 'infinity')) * 1000;
  if p_endpoint is not null then
    v_endpoint_window := format(
      ', {"name": %s, "limit": %s, "seconds": %s, "spent": %s, "resetsAt": %s}', to_json(p_endpoint),
      v_endpoint_allowed, e.seconds, e.spent, extract(epoch from e.opened_at) * 1000 + e.seconds * 1000);
  end if;
  -- Written as text: it takes a fifth of the time of functions that build JSON.
  windows := format(
    '[{"name": "burst", "limit": %s, "seconds": 1, "spent": %s, "resetsAt": %s},'
    ' {"name": "minute", "limit": %s, "seconds": 60, "spent": %s, "resetsAt": %s},'
    ' {"name": "day", "limit": %s, "seconds": 86400, "spent": %s, "resetsAt": %s}%s]',
    v_burst_allowed, w.burst_spent, extract(epoch from w.burst_opened_at) * 1000 + 1000,
    v_minute_allowed, w.minute_spent, extract(epoch from w.minute_opened_at) * 1000 + 60000,
    v_day_allowed, w.day_spent, extract(epoch from w.day_opened_at) * 1000 + 86400000, v_endpoint_window);
end
$$;

-- The windows of an account and mode, the plan's first, as they stand; spends nothing. A
-- connection plans it once: planning for each account anew would take longer than reading.
create function rate_limits_of(p_account_id uuid, p_mode text)
returns table (name text, allowed integer, seconds integer, spent integer, resets_ms float8)
language plpgsql stable set plan_cache_mode = force_generic_plan as $$
begin
  return query
  select l.name,
         coalesce(l.own::integer, l.allowed),
         l.seconds,
         case when stands.open then l.spent else 0 end,
         (extract(epoch from
            case when stands.open then l.opened_at else clock_timestamp() end
              + make_interval(secs => l.seconds)) * 1000)::float8
    from accounts account
    join plans p on p.name = account.plan
    left join plan_windows w on w.account_id = account.id and w.mode = p_mode
   cross join lateral (
     values (1, 'burst', account.limits ->> 'burst', p.per_second, 1, w.burst_opened_at, w.burst_spent),
            (2, 'minute', account.limits ->> 'minute', p.per_minute, 60, w.minute_opened_at, w.minute_spent),
            (3, 'day', account.limits ->> 'day', p.per_day, 86400, w.day_opened_at, w.day_spent)
     union all
     select 4, e.endpoint, account.limits -> 'endpoints' ->> e.endpoint, e.allowed, e.seconds, ew.opened_at, ew.spent
       from endpoint_limits e
       left join endpoint_windows ew
         on ew.account_id = account.id and ew.mode = p_mode and ew.endpoint = e.endpoint
   ) as l (place, name, own, allowed, seconds, opened_at, spent)
   cross join lateral (
     select l.opened_at > clock_timestamp() - make_interval(secs => l.seconds) as open
   ) as stands
   where account.id = p_account_id
   order by l.place, l.name;
end
$$;

-- The plan of an account, without access to accounts: it decides how many deliveries workers make for it.
create function account_plan(p_account_id uuid) returns text
language sql stable security definer set search_path = pg_catalog, public as $$
  select plan from accounts where id = p_account_id
$$;

revoke execute on function account_plan(uuid) from public;

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
