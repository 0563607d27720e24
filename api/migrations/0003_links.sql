-- Short links, the truth of the whole service, and the outbox that carries their changes.

create table domains (
  id uuid primary key,
  account_id uuid not null references accounts (id),
  mode text not null check (mode in ('live', 'test')),
  host text not null,
  verification_value text not null,
  created_at timestamptz(3) not null default now(),
  verified_at timestamptz(3)
);

-- A host belongs to whoever proved it; any account may try.
create unique index domains_verified_host on domains (host) where verified_at is not null;
create unique index domains_by_account on domains (account_id, mode, host);

-- Versions of all links come from one sequence, so that the states of a short link stay in order
-- even when an alias is freed by one link and taken by another.
create sequence link_version as bigint;

create table links (
  id uuid primary key,
  account_id uuid not null references accounts (id),
  mode text not null check (mode in ('live', 'test')),
  -- null is the service's own short domain
  domain_id uuid references domains (id),
  alias text collate "C" not null,
  -- as the client gave it, trimmed; target_url is what the WHATWG parser made of it
  original_url text not null,
  target_url text not null,
  title text,
  password_hash text,
  expires_at timestamptz(3),
  utm_source text,
  utm_medium text,
  utm_campaign text,
  utm_term text,
  utm_content text,
  forward_query boolean not null default false,
  tags text[] not null default '{}',
  version bigint not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint links_alias_key unique nulls not distinct (domain_id, alias)
);

create index links_by_account on links (account_id, mode, created_at desc, id desc);

-- Figures the worker keeps up to date. Apart from links, so that a count does not rewrite a wide
-- row and its indexes.
create table link_counters (
  link_id uuid primary key references links (id) on delete cascade,
  account_id uuid not null,
  mode text not null,
  clicks bigint not null default 0,
  unique_clicks bigint not null default 0,
  bot_clicks bigint not null default 0
) with (fillfactor = 80);

create index link_counters_by_clicks on link_counters (account_id, mode, clicks desc, link_id desc);

-- Changes that the links feed has not acknowledged yet. A row is deleted after its
-- acknowledgement; there is no cursor, so nothing can be skipped.
create table link_outbox (
  id bigint generated always as identity primary key,
  version bigint not null,
  record jsonb not null,
  created_at timestamptz(3) not null default now()
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
