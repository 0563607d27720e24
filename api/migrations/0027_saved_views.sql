-- Views of analytics that an account has saved: a name, and the query of the page.
create table saved_views (
  account_id uuid not null references accounts (id) on delete cascade,
  mode text not null check (mode in ('live', 'test')),
  name text not null check (length(name) between 1 and 100),
  query text not null check (octet_length(query) <= 8000),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (account_id, mode, name)
);
