-- Links with which people set a new password without the old one: each once, until it expires.
create table password_resets (
  token_hash bytea primary key,
  user_id uuid not null references users (id) on delete cascade,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null
);

create index password_resets_by_user on password_resets (user_id);

-- Mails with such a link wait in the queue as well, in the language of who asked for them.
alter table report_mails
  add column kind text check (kind in ('report', 'webhook', 'password_reset')),
  add column language text;

update report_mails set kind = case when run_id is null then 'webhook' else 'report' end;

alter table report_mails
  alter column kind set not null,
  add constraint report_mails_kind
    check ((kind = 'report') = (run_id is not null) and (kind = 'password_reset') = (language is not null));
