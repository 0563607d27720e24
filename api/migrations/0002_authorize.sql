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
         api_key.expires_at, api_key.revoked_at, api_key.last_used_at,
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

  -- Coarse on purpose: one logged write a minute at most, whatever the traffic.
  if verdict = 'ok' and (k.last_used_at is null or k.last_used_at < v_now - interval '1 minute') then
    update api_keys set last_used_at = v_now where id = k.id;
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
