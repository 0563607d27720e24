-- A mail about disabled webhooks lists all that its user has not been told of: it is about no single one of them, and has
-- neither a run nor a report. The checks and the index of the dropped columns go with them.
delete from report_mails where webhook_id is not null;

alter table report_mails
  drop column webhook_id,
  drop column webhook_disabled_at,
  add constraint report_mails_run_and_report check ((run_id is null) = (report_id is null));

create index report_mails_about_webhooks on report_mails (user_id, created_at) where run_id is null;
