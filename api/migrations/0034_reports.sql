-- How events are written for a webhook: as they are, or as messages that chats understand.
alter table webhooks
  add column format text not null default 'standard' check (format in ('standard', 'slack', 'discord'));

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
  time_zone text not null,
  language text not null,
  status text not null default 'active' check (status in ('active', 'paused')),
  -- when it is made next; see api/reports/schedule.ts
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

-- A mail with a run of a report to one of its recipients.
create table report_mails (
  -- also in its Message-ID
  id uuid primary key,
  run_id uuid not null references report_runs (id) on delete cascade,
  report_id uuid not null references reports (id) on delete cascade,
  user_id uuid not null references users (id) on delete cascade,
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
  unique (run_id, user_id)
);

create index report_mails_open on report_mails (next_attempt_at) where status in ('waiting', 'sending');

create index report_mails_by_report on report_mails (report_id);

create index report_mails_by_user on report_mails (user_id);
