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
  -- Refusals, which lead to a suspension when there are too many.
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

-- How many refusals within how long lead to a suspension, and how long that lasts.
create table suspension_rule (
  singleton boolean primary key default true check (singleton),
  minute_limits_refused integer not null,
  within_seconds integer not null,
  suspended_seconds integer not null
);

insert into suspension_rule (minute_limits_refused, within_seconds, suspended_seconds) values (10, 600, 600);

-- Authenticates a key, checks a scope and spends requests from every window that applies: all of it
-- in one round trip, by the database's clock. Of several requests asked for at once as many are
-- granted as every window takes; each of them spends from all windows or from none.
--
-- p_lookup, p_hash  public part of the key, and SHA-256 of its secret part
-- p_scope           the scope the endpoint asks for; null for none
-- p_endpoint        the endpoint's own window (endpoint_limits.endpoint); null for none
-- p_wanted          how many requests to spend; 0 looks and spends nothing
-- p_refused         requests that the calling process refused by itself since it last asked: whoever
--                   keeps on exceeding limits is suspended for a while
--
-- verdict: ok, unknown, revoked, expired, forbidden, suspended, barred (by an operator, until lifted)
-- or limited, which means that none was granted. Every verdict but unknown brings the windows: how
-- many requests each allows, how many are spent, and when it closes, in Unix milliseconds.
create function authorize_request(
  p_lookup text, p_hash bytea, p_scope text, p_endpoint text, p_wanted integer, p_refused integer,
  p_network text,
  out verdict text, out granted integer, out key_id uuid, out account_id uuid, out mode text, out scopes text[],
  out plan text, out now_ms float8, out suspended_until_ms float8,
  out burst_allowed integer, out burst_spent integer, out burst_resets_ms float8,
  out minute_allowed integer, out minute_spent integer, out minute_resets_ms float8,
  out day_allowed integer, out day_spent integer, out day_resets_ms float8,
  out endpoint_allowed integer, out endpoint_seconds integer, out endpoint_spent integer,
  out endpoint_resets_ms float8
) language plpgsql as $$
declare
  k record;
  w plan_windows;
  e record;
  v_rule record;
  v_now timestamptz;
  v_nonce bytea := uuid_send(gen_random_uuid());
  v_refused integer := p_refused;
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
    when k.suspended_until = 'infinity' then 'barred'
    when p_scope is not null and not p_scope = any (k.scopes) then 'forbidden'
    when k.suspended_until > v_now and p_wanted > 0 then 'suspended'
    else 'ok'
  end;

  burst_allowed := k.per_second;
  minute_allowed := k.per_minute;
  day_allowed := k.per_day;
  if k.limits <> '{}' then
    burst_allowed := coalesce((k.limits ->> 'burst')::integer, burst_allowed);
    minute_allowed := coalesce((k.limits ->> 'minute')::integer, minute_allowed);
    day_allowed := coalesce((k.limits ->> 'day')::integer, day_allowed);
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
  granted := least(p_wanted, burst_allowed - w.burst_spent, minute_allowed - w.minute_spent,
                   day_allowed - w.day_spent);

  if p_endpoint is not null then
    select l.allowed, l.seconds, ew.opened_at, coalesce(ew.spent, 0) as spent into e
      from endpoint_limits l
      left join endpoint_windows ew
        on ew.account_id = k.account_id and ew.mode = k.mode and ew.endpoint = l.endpoint
       and ew.opened_at > v_now - make_interval(secs => l.seconds)
     where l.endpoint = p_endpoint;
    e.opened_at := coalesce(e.opened_at, v_now);
    endpoint_allowed := coalesce((k.limits -> 'endpoints' ->> p_endpoint)::integer, e.allowed);
    endpoint_seconds := e.seconds;
    granted := least(granted, endpoint_allowed - e.spent);
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
    select * into v_rule from suspension_rule;
    if w.refused_opened_at <= v_now - make_interval(secs => v_rule.within_seconds) then
      w.refused_opened_at := v_now;
      w.refused := 0;
    end if;
    w.refused := w.refused + v_refused;
    if w.refused > v_rule.minute_limits_refused * minute_allowed
       and (k.suspended_until is null or k.suspended_until <= v_now) then
      k.suspended_until := v_now + make_interval(secs => v_rule.suspended_seconds);
      update accounts set suspended_until = k.suspended_until where id = k.account_id;
      -- What led to this suspension does not lead to the next.
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
  suspended_until_ms := extract(epoch from nullif(k.suspended_until, 'infinity')) * 1000;
  burst_spent := w.burst_spent;
  burst_resets_ms := extract(epoch from w.burst_opened_at) * 1000 + 1000;
  minute_spent := w.minute_spent;
  minute_resets_ms := extract(epoch from w.minute_opened_at) * 1000 + 60000;
  day_spent := w.day_spent;
  day_resets_ms := extract(epoch from w.day_opened_at) * 1000 + 86400000;
  if p_endpoint is not null then
    endpoint_spent := e.spent;
    endpoint_resets_ms := extract(epoch from e.opened_at) * 1000 + e.seconds * 1000;
  end if;
end
$$;

-- The windows of all endpoints of an account and mode, as they stand; spends nothing.
create function endpoint_limits_of(p_account_id uuid, p_mode text)
returns table (name text, allowed integer, seconds integer, spent integer, resets_ms float8)
language sql stable as $$
  select l.endpoint,
         coalesce((account.limits -> 'endpoints' ->> l.endpoint)::integer, l.allowed),
         l.seconds,
         coalesce(w.spent, 0),
         extract(epoch from coalesce(w.opened_at, clock_timestamp()) + make_interval(secs => l.seconds)) * 1000
    from accounts account
   cross join endpoint_limits l
    left join endpoint_windows w
      on w.account_id = account.id and w.mode = p_mode and w.endpoint = l.endpoint
     and w.opened_at > clock_timestamp() - make_interval(secs => l.seconds)
   where account.id = p_account_id
   order by l.endpoint
$$;

-- The windows of an account's plan and mode, as they stand; spends nothing.
create function plan_limits_of(p_account_id uuid, p_mode text)
returns table (name text, allowed integer, seconds integer, spent integer, resets_ms float8)
language sql stable as $$
  select l.name,
         coalesce((account.limits ->> l.name)::integer, l.allowed),
         l.seconds,
         case when l.opened_at > clock_timestamp() - make_interval(secs => l.seconds) then l.spent else 0 end,
         extract(epoch from
           case when l.opened_at > clock_timestamp() - make_interval(secs => l.seconds) then l.opened_at
                else clock_timestamp() end + make_interval(secs => l.seconds)) * 1000
    from accounts account
    join plans p on p.name = account.plan
    left join plan_windows w on w.account_id = account.id and w.mode = p_mode
   cross join lateral (values
     (1, 'burst', p.per_second, 1, coalesce(w.burst_opened_at, '-infinity'), coalesce(w.burst_spent, 0)),
     (2, 'minute', p.per_minute, 60, coalesce(w.minute_opened_at, '-infinity'), coalesce(w.minute_spent, 0)),
     (3, 'day', p.per_day, 86400, coalesce(w.day_opened_at, '-infinity'), coalesce(w.day_spent, 0))
   ) as l (place, name, allowed, seconds, opened_at, spent)
   where account.id = p_account_id
   order by l.place
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
