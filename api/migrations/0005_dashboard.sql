-- People who sign in to the dashboard. The first six tables are laid out as the authentication
-- library wants them (api/sessions/better-auth.ts); nothing else writes to them.

create table users (
  id uuid primary key default gen_random_uuid(),
  email text not null unique check (email = lower(email)),
  name text not null,
  email_verified boolean not null default false,
  image text,
  -- Whether the user signs in with a code, too: once one has been sent, the row of second_factors counts.
  has_second_factor boolean not null default false,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);

-- A token is of no use without the signature that the cookie carries beside it.
create table sessions (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null references users (id) on delete cascade,
  token text not null unique,
  expires_at timestamptz(3) not null,
  user_agent text,
  -- Always null: addresses of people are not kept.
  ip_address text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);

create index sessions_by_user on sessions (user_id);

create table credentials (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null references users (id) on delete cascade,
  provider_id text not null,
  account_id text not null,
  -- Argon2id in PHC form.
  password text,
  access_token text,
  refresh_token text,
  id_token text,
  access_token_expires_at timestamptz(3),
  refresh_token_expires_at timestamptz(3),
  scope text,
  -- Of a user who signs in with a provider: when it last vouched for them, and was last asked to.
  confirmed_at timestamptz(3) not null default now(),
  asked_at timestamptz(3) not null default now(),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);

create index credentials_by_user on credentials (user_id);
create unique index credentials_by_provider on credentials (provider_id, account_id);

-- Codes of an app, and recovery codes: both encrypted by DASHBOARD_SECRET.
create table second_factors (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null unique references users (id) on delete cascade,
  secret text not null,
  recovery_codes text not null,
  -- Whether a code of the app has come.
  verified boolean not null default false,
  -- Wrong codes in a row, and until when none is accepted.
  wrong_codes integer not null default 0,
  locked_until timestamptz(3)
);

-- Public keys of users' authenticators (WebAuthn).
create table passkeys (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null references users (id) on delete cascade,
  name text not null,
  credential_id text not null unique,
  public_key text not null,
  counter bigint not null,
  device_type text not null,
  backed_up boolean not null,
  transports text,
  aaguid text,
  created_at timestamptz(3) not null default now()
);

create index passkeys_by_user on passkeys (user_id);

-- What a sign-in of several steps waits for.
create table verifications (
  id uuid primary key default gen_random_uuid(),
  identifier text not null,
  value text not null,
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);

create index verifications_by_identifier on verifications (identifier);

-- Who belongs to which account, and what they may do there (api/members/roles.ts).
create table members (
  account_id uuid not null references accounts (id) on delete cascade,
  user_id uuid not null references users (id) on delete cascade,
  role text not null check (role in ('owner', 'member', 'viewer')),
  created_at timestamptz(3) not null default now(),
  primary key (account_id, user_id)
);

create index members_by_user on members (user_id);

-- Roles whose members need a second factor, or a provider, to work in the account.
alter table accounts add column second_factor_roles text[] not null default '{}'
  check (second_factor_roles <@ array['owner', 'member', 'viewer']);

create table invitations (
  id uuid primary key,
  account_id uuid not null references accounts (id) on delete cascade,
  email text not null,
  role text not null check (role in ('owner', 'member', 'viewer')),
  -- SHA-256 of the token in the link that is handed over; 256 random bits, so no slow hash.
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null
);

create index invitations_by_account on invitations (account_id, created_at);

-- Attempts to sign in as nobody, by day (UTC).
create table unknown_sign_ins (
  day date primary key,
  count bigint not null
);

-- Tries at passwords, by a hash of what is tried from or for. Unlogged: a crash of the server forgets
-- the open windows and nothing else.
create unlogged table sign_in_windows (
  key bytea primary key,
  opened_at timestamptz not null,
  spent integer not null
);

-- Links with which people set a new password without the old one: each once, until it expires.
create table password_resets (
  token_hash bytea primary key,
  user_id uuid not null references users (id) on delete cascade,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null
);

create index password_resets_by_user on password_resets (user_id);

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

-- How an account presents itself on the pages of its shared statistics. An account without a row shows nothing.
create table account_branding (
  account_id uuid not null references accounts (id) on delete cascade,
  mode text not null check (mode in ('live', 'test')),
  name text check (length(name) between 1 and 100),
  -- The colour as chosen; each page derives from it what can be read on its background.
  color text check (color ~ '^#[0-9a-f]{6}$'),
  -- A WebP image that the API has encoded itself.
  logo bytea check (octet_length(logo) <= 32768),
  -- How QR codes look unless a request says otherwise; null is black on white.
  qr_style jsonb check (jsonb_typeof(qr_style) = 'object' and octet_length(qr_style::text) <= 1000),
  -- Counts changes: what is made of the row is cached by it.
  version integer not null default 1,
  updated_at timestamptz(3) not null default now(),
  primary key (account_id, mode)
);

-- What an account has saved under a name: a query of analytics or of the list of links, or UTM parameters for new links.
create table saved_views (
  account_id uuid not null references accounts (id) on delete cascade,
  mode text not null check (mode in ('live', 'test')),
  kind text not null default 'analytics' check (kind in ('analytics', 'links', 'utm')),
  name text not null check (length(name) between 1 and 100),
  query text not null check (octet_length(query) <= 8000),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (account_id, mode, kind, name)
);
