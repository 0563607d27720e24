-- People who sign in to the dashboard. The first four tables are laid out as the authentication
-- library wants them (api/sessions/better-auth.ts); nothing else writes to them.

create table users (
  id uuid primary key default gen_random_uuid(),
  email text not null unique,
  name text not null,
  email_verified boolean not null default false,
  image text,
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
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);

create index credentials_by_user on credentials (user_id);

-- For confirmations by e-mail, which the library wants a place for; nothing is sent yet.
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

-- Tries at passwords, by a hash of what is tried from or for. Unlogged: a crash of the server forgets
-- the open windows and nothing else.
create unlogged table sign_in_windows (
  key bytea primary key,
  opened_at timestamptz not null,
  spent integer not null
);

-- The windows of an account's plan and mode, as they stand; spends nothing.
create function plan_limits_of(p_account_id uuid, p_mode text)
returns table (name text, allowed integer, seconds integer, spent integer, resets_ms float8)
language sql stable as $$
  select l.name,
         coalesce((account.limits ->> l.name)::integer, l.allowed),
         l.seconds,
         case when l.opened_at > clock_timestamp() - make_interval(secs => l.seconds) then l.spent else 0 end,
         extract(epoch from
           case when l.opened_at > clock_timestamp() - make_interval(secs => l.seconds) then l.opened_at
                else clock_timestamp() end + make_interval(secs => l.seconds)) * 1000
    from accounts account
    join plans p on p.name = account.plan
    left join plan_windows w on w.account_id = account.id and w.mode = p_mode
   cross join lateral (values
     (1, 'burst', p.per_second, 1, coalesce(w.burst_opened_at, '-infinity'), coalesce(w.burst_spent, 0)),
     (2, 'minute', p.per_minute, 60, coalesce(w.minute_opened_at, '-infinity'), coalesce(w.minute_spent, 0)),
     (3, 'day', p.per_day, 86400, coalesce(w.day_opened_at, '-infinity'), coalesce(w.day_spent, 0))
   ) as l (place, name, allowed, seconds, opened_at, spent)
   where account.id = p_account_id
   order by l.place
$$;
