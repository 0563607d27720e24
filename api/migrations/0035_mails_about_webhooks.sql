-- When a webhook was disabled; null unless it is, and of those that were before this migration. A trigger writes it, so that
-- it is also right when a process of the version before disables or continues a webhook.
alter table webhooks add column disabled_at timestamptz(3);

create function note_webhook_disabled() returns trigger language plpgsql as $$
begin
  new.disabled_at := case when new.status = 'disabled' then clock_timestamp() end;
  return new;
end
$$;

create trigger webhooks_note_disabled before update of status on webhooks
  for each row when (new.status <> old.status) execute function note_webhook_disabled();

-- A mail is about the run of a report, or about a webhook that was disabled then.
--
-- Processes of the version before see mails about webhooks while the upgrade goes on. They cannot send them, because what they
-- lease they join with its run, but they withdraw those that wait, because nobody gets a report from them. That is safe: a mail
-- that is missing is put into the queue again (api/webhooks/mails-sql.ts), until one process of this version has leased it.
alter table report_mails
  alter column run_id drop not null,
  alter column report_id drop not null,
  add column webhook_id uuid references webhooks (id) on delete cascade,
  add column webhook_disabled_at timestamptz(3),
  add check (num_nonnulls(run_id, report_id) = case when webhook_id is null then 2 else 0 end),
  add check ((webhook_id is null) = (webhook_disabled_at is null));

create unique index report_mails_by_webhook on report_mails (webhook_id, user_id, webhook_disabled_at)
  where webhook_id is not null;
