-- Where events of an account and mode are delivered to.
create table webhooks (
  id uuid primary key,
  account_id uuid not null references accounts (id) on delete cascade,
  mode text not null check (mode in ('live', 'test')),
  url text not null,
  -- types of events, or only '*' for all
  events text[] not null,
  -- Of events about links only those about one of these; null for all.
  link_ids uuid[],
  tags text[],
  domains text[],
  description text,
  -- What the secret is derived from, together with a secret that no database has (shared/webhooks/secret.ts).
  salt bytea not null check (octet_length(salt) = 16),
  -- The same of the secret before, which is valid until then.
  old_salt bytea check (octet_length(old_salt) = 16),
  old_until timestamptz(3),
  status text not null default 'active' check (status in ('active', 'paused', 'disabled')),
  disabled_reason text check (disabled_reason in ('gone', 'failing')),
  -- Events up to this position have deliveries, as far as they are for this webhook.
  position bigint not null,
  -- Since when every attempt has failed; null when the last one was successful.
  failing_since timestamptz(3),
  -- When the next delivery is due, apart from new events.
  wake_at timestamptz(3) not null default 'infinity',
  -- Whether as many deliveries wait as may: new events then have none yet.
  is_full boolean not null default false,
  -- The worker that delivers, and until when the others leave the webhook to it.
  leased_by uuid,
  leased_until timestamptz(3) not null default '-infinity',
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);

create index webhooks_by_account on webhooks (account_id, mode, created_at desc, id desc);

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
  -- why there was no response
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

-- The roles of workers, whatever they are called, deliver: they are those that change counters without changing links.
do $$
declare role text;
begin
  for role in
    select distinct acl.grantee::regrole::text from pg_class, aclexplode(relacl) acl
     where pg_class.oid = 'link_counters'::regclass and acl.grantee not in (0, relowner)
       and not has_table_privilege(acl.grantee, 'links', 'UPDATE')
  loop
    execute format('grant select on webhooks to %s', role);
    execute format(
      'grant update (status, disabled_reason, position, failing_since, wake_at, is_full, leased_by, leased_until, updated_at)'
      ' on webhooks to %s', role);
    execute format('grant select, insert, update on webhook_deliveries to %s', role);
    execute format('grant execute on function webhook_links(uuid[]) to %s', role);
  end loop;
end
$$;
