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

-- For the roles that count clicks, whatever they are called.
revoke execute on function record_click_events(jsonb, jsonb) from public;
do $$
declare role text;
begin
  for role in
    select distinct acl.grantee::regrole::text from pg_class, aclexplode(relacl) acl
     where pg_class.oid = 'link_counters'::regclass and acl.grantee not in (0, relowner)
       and not has_table_privilege(acl.grantee, 'links', 'UPDATE')
  loop
    execute format('grant execute on function record_click_events(jsonb, jsonb) to %s', role);
  end loop;
  for role in
    select distinct acl.grantee::regrole::text from pg_class, aclexplode(relacl) acl
     where pg_class.oid = 'click_event_days'::regclass and acl.grantee not in (0, relowner)
  loop
    execute format('revoke all on click_event_days from %s', role);
  end loop;
end
$$;
