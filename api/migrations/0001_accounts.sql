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
  created_at timestamptz(3) not null default now(),
  last_used_at timestamptz(3),
  expires_at timestamptz(3),
  revoked_at timestamptz(3)
);

create index api_keys_by_account on api_keys (account_id, created_at desc, id desc);

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
