-- How an account presents itself on the pages of its shared statistics. An account without a row shows nothing.
create table account_branding (
  account_id uuid not null references accounts (id) on delete cascade,
  mode text not null check (mode in ('live', 'test')),
  name text check (length(name) between 1 and 100),
  -- The colour as chosen; each page derives from it what can be read on its background.
  color text check (color ~ '^#[0-9a-f]{6}$'),
  -- A WebP image that the API has encoded itself.
  logo bytea check (octet_length(logo) <= 32768),
  -- Counts changes: what is made of the row is cached by it.
  version integer not null default 1,
  updated_at timestamptz(3) not null default now(),
  primary key (account_id, mode)
);
