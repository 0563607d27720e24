-- How many refusals within how long lead to a suspension, and how long that lasts.
create table suspension_rule (
  singleton boolean primary key default true check (singleton),
  minute_limits_refused integer not null,
  within_seconds integer not null,
  suspended_seconds integer not null
);

insert into suspension_rule (minute_limits_refused, within_seconds, suspended_seconds) values (10, 600, 600);

-- Authenticates a key, checks a scope and spends one request from every window that applies, or
-- from none when any refuses: all of it in one round trip, by the database's clock.
--
-- p_lookup, p_hash  public part of the key, and SHA-256 of its secret part
-- p_scope           the scope the endpoint asks for; null for none
-- p_endpoint        the endpoint's own window (endpoint_limits.endpoint); null for none, '*' for all
-- p_cost            how many requests to spend; 0 looks and spends nothing
-- p_refused         requests that the calling process refused by itself since it last asked: whoever
--                   keeps on exceeding limits is suspended for a while
--
-- verdict: ok, unknown, revoked, expired, forbidden, suspended, barred (by an operator, until lifted)
-- or limited. Every verdict but unknown brings the state of the windows: [{name, allowed, seconds,
-- spent, resets_at}], instants in Unix milliseconds.
create function authorize_request(
  p_lookup text, p_hash bytea, p_scope text, p_endpoint text, p_cost integer, p_refused integer
) returns table (
  verdict text, key_id uuid, account_id uuid, mode text, scopes text[], plan text,
  now_ms float8, suspended_until_ms float8, windows jsonb
) language plpgsql as $$
declare
  k record;
  v_now timestamptz;
  v_nonce bytea := uuid_send(gen_random_uuid());
  v_refused integer := p_refused;
  v_refusals integer;
  v_rule record;
begin
  select api_key.id, api_key.account_id, api_key.mode, api_key.scopes, api_key.secret_hash,
         api_key.expires_at, api_key.revoked_at, api_key.last_used_at,
         account.plan, account.suspended_until, account.limits,
         coalesce((account.limits ->> 'burst')::integer, p.per_second) as per_second,
         coalesce((account.limits ->> 'minute')::integer, p.per_minute) as per_minute,
         coalesce((account.limits ->> 'day')::integer, p.per_day) as per_day
    into k
    from api_keys api_key
    join accounts account on account.id = api_key.account_id
    join plans p on p.name = account.plan
   where api_key.lookup = p_lookup;

  -- Hashing both sides with a fresh nonce makes the time of the comparison tell nothing.
  if not found or sha256(k.secret_hash || v_nonce) <> sha256(p_hash || v_nonce) then
    return query select 'unknown', null::uuid, null::uuid, null::text, null::text[], null::text,
                        null::float8, null::float8, null::jsonb;
    return;
  end if;

  -- One request of an account and mode at a time, across all API processes. The clock is read
  -- under the lock, so that a window never seems to open before the one it follows.
  perform pg_advisory_xact_lock(hashtextextended(k.account_id::text || k.mode, 0));
  v_now := clock_timestamp();

  verdict := case
    when k.revoked_at <= v_now then 'revoked'
    when k.expires_at <= v_now then 'expired'
    when k.suspended_until = 'infinity' then 'barred'
    when p_scope is not null and not p_scope = any (k.scopes) then 'forbidden'
    when k.suspended_until > v_now and p_cost > 0 then 'suspended'
    else 'ok'
  end;

  with applicable (name, allowed, seconds) as (
    values ('burst', k.per_second, 1), ('minute', k.per_minute, 60), ('day', k.per_day, 86400)
    union all
    select e.endpoint, coalesce((k.limits -> 'endpoints' ->> e.endpoint)::integer, e.allowed), e.seconds
      from endpoint_limits e
     where e.endpoint = p_endpoint or p_endpoint = '*'
  ), state as materialized (
    select a.name, a.allowed, a.seconds,
           case when w.open then w.opened_at else v_now end as opened_at,
           case when w.open then w.spent else 0 end as spent
      from applicable a
      left join lateral (
        select r.opened_at, r.spent, r.opened_at + make_interval(secs => a.seconds) > v_now as open
          from rate_windows r
         where r.account_id = k.account_id and r.mode = k.mode and r.name = a.name
      ) w on true
  ), ruling as materialized (
    select verdict = 'ok' and bool_and(s.spent + p_cost <= s.allowed) as granted from state s
  ), spend as (
    insert into rate_windows as r (account_id, mode, name, opened_at, spent)
    select k.account_id, k.mode, s.name, s.opened_at, s.spent + p_cost
      from state s, ruling
     where ruling.granted and p_cost > 0
    on conflict on constraint rate_windows_pkey
       do update set opened_at = excluded.opened_at, spent = excluded.spent
  )
  select case when verdict = 'ok' and not ruling.granted then 'limited' else verdict end,
         (select jsonb_agg(jsonb_build_object(
                   'name', s.name, 'allowed', s.allowed, 'seconds', s.seconds,
                   'spent', s.spent + case when ruling.granted then p_cost else 0 end,
                   'resets_at', extract(epoch from s.opened_at + make_interval(secs => s.seconds)) * 1000))
            from state s)
    into verdict, windows
    from ruling;

  if verdict = 'limited' then
    v_refused := v_refused + 1;
  end if;
  if v_refused > 0 then
    select * into v_rule from suspension_rule;
    insert into rate_windows as r (account_id, mode, name, opened_at, spent)
    values (k.account_id, k.mode, 'refused', v_now, v_refused)
    on conflict on constraint rate_windows_pkey
       do update set
         spent = case when r.opened_at + make_interval(secs => v_rule.within_seconds) > v_now
                      then r.spent else 0 end + excluded.spent,
         opened_at = case when r.opened_at + make_interval(secs => v_rule.within_seconds) > v_now
                          then r.opened_at else excluded.opened_at end
    returning spent into v_refusals;
    if v_refusals > v_rule.minute_limits_refused * k.per_minute
       and (k.suspended_until is null or k.suspended_until <= v_now) then
      k.suspended_until := v_now + make_interval(secs => v_rule.suspended_seconds);
      update accounts set suspended_until = k.suspended_until where id = k.account_id;
      -- What led to this suspension does not lead to the next.
      delete from rate_windows r
       where r.account_id = k.account_id and r.mode = k.mode and r.name = 'refused';
    end if;
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
  return next;
end
$$;
