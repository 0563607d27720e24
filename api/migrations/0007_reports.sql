-- Reports of statistics, which are made regularly.
create table reports (
  id uuid primary key,
  account_id uuid not null references accounts (id) on delete cascade,
  mode text not null check (mode in ('live', 'test')),
  name text not null check (length(name) between 1 and 100),
  -- What it is about: links with a tag, or one link; everything of the account and mode if both are null.
  tag text,
  link_id uuid,
  period text not null check (period in ('weekly', 'monthly')),
  -- the local hour at which it is made, on a Monday or the first of a month
  hour smallint not null check (hour between 0 and 23),
  timezone text not null,
  language text not null,
  status text not null default 'active' check (status in ('active', 'paused')),
  -- when it is made next; see api/reports/model.ts
  due_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  check (tag is null or link_id is null)
);

create index reports_by_account on reports (account_id, mode, created_at desc, id desc);

create index reports_due on reports (due_at) where status = 'active';

-- A report that was made. Each period is made once by itself, whatever else has been requested.
create table report_runs (
  -- also that of its event
  id uuid primary key,
  report_id uuid not null references reports (id) on delete cascade,
  -- the period in local days
  first_day date not null,
  last_day date not null,
  requested boolean not null,
  -- what it says: shared/reports/content.ts
  content jsonb not null,
  created_at timestamptz(3) not null default now()
);

create unique index report_runs_by_period on report_runs (report_id, first_day, last_day) where not requested;

create index report_runs_by_report on report_runs (report_id, created_at desc, id desc);

create index report_runs_by_age on report_runs (created_at);

-- Members who get a report by e-mail, until they leave the account or unsubscribe.
create table report_recipients (
  report_id uuid not null references reports (id) on delete cascade,
  account_id uuid not null,
  user_id uuid not null,
  primary key (report_id, user_id),
  foreign key (account_id, user_id) references members (account_id, user_id) on delete cascade
);

create index report_recipients_by_member on report_recipients (account_id, user_id);

-- Mails: with a run of a report to one of its recipients; about all disabled webhooks of which their user has not been
-- told; about a key that was reported, to the owners; with a link for a new password, in the language of who asked for it.
create table report_mails (
  -- also in its Message-ID
  id uuid primary key,
  kind text not null check (kind in ('report', 'webhook', 'key', 'password_reset')),
  run_id uuid references report_runs (id) on delete cascade,
  report_id uuid references reports (id) on delete cascade,
  key_id uuid references api_keys (id) on delete cascade,
  user_id uuid not null references users (id) on delete cascade,
  language text,
  -- `sending` from just before the first byte of the message; `unknown` when nobody knows whether it arrived
  status text not null default 'waiting' check (status in ('waiting', 'sending', 'sent', 'failed', 'unknown')),
  attempts integer not null default 0,
  next_attempt_at timestamptz(3) not null default now(),
  -- The process that sends it, and until when the others leave it alone.
  leased_by uuid,
  leased_until timestamptz(3) not null default '-infinity',
  -- why it was not sent
  error text,
  created_at timestamptz(3) not null default now(),
  unique (run_id, user_id),
  constraint report_mails_run_and_report check ((run_id is null) = (report_id is null)),
  constraint report_mails_kind
    check ((kind = 'report') = (run_id is not null) and (kind = 'key') = (key_id is not null)
           and (kind = 'password_reset') = (language is not null))
);

create index report_mails_open on report_mails (next_attempt_at) where status in ('waiting', 'sending');

create index report_mails_by_report on report_mails (report_id);

create index report_mails_by_user on report_mails (user_id);

create index report_mails_about_keys on report_mails (key_id) where key_id is not null;

create index report_mails_about_webhooks on report_mails (user_id, created_at) where run_id is null;

-- When backups of each place were made and proven, for the metrics of the API. `shorthop backup` writes it, as the owner.
create table backups (
  place text primary key check (length(place) between 1 and 2000),
  -- When the newest backup was made, and when the newest was made that a drill has restored.
  made_at timestamptz(3),
  proven_at timestamptz(3)
);
