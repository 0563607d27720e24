-- Statistics that people without an account may see, by a secret URL. A revoked share is deleted.
create table shares (
  id uuid primary key,
  account_id uuid not null references accounts (id) on delete cascade,
  mode text not null check (mode in ('live', 'test')),
  -- null is all links of the account and mode
  link_id uuid references links (id) on delete cascade,
  name text,
  -- SHA-256 of the token in the URL; 256 random bits, so no slow hash.
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  -- Argon2id in PHC form.
  password_hash text,
  breakdowns text[] not null,
  timezone text not null,
  -- Origins whose pages may embed the share's page.
  embed_origins text[] not null,
  expires_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);

create index shares_by_account on shares (account_id, mode, created_at desc, id desc);

create index shares_by_link on shares (link_id) where link_id is not null;
