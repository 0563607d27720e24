-- Grants on tables, which exist after `shorthop migrate`. Run it with psql as a superuser or the owner, in the
-- database `shorthop`; running it again changes nothing.
\set ON_ERROR_STOP on

begin;
-- What was there before the roles; what came later has these by default (roles.sql).
grant select, insert, update, delete on all tables in schema public to shorthop_api;
grant usage on all sequences in schema public to shorthop_api;
-- Only the owner writes these: applied migrations, the limits of plans, and which backups are proven.
revoke insert, update, delete
  on schema_migrations, plans, endpoint_limits, quotas, plan_quotas, backups
  from shorthop_api;
-- The worker writes the totals of links.
grant select, update on link_counters to shorthop_worker;
-- It delivers events to webhooks: it makes and writes deliveries, and says where it is. Secrets are not in the database.
grant select on webhooks to shorthop_worker;
grant update (status, disabled_reason, position, failing_since, wake_at, is_full, is_slow, is_wanted, leased_by,
              leased_until, updated_at)
  on webhooks to shorthop_worker;
grant select, insert, update on webhook_deliveries to shorthop_worker;
grant execute on function webhook_links(uuid[]) to shorthop_worker;
grant execute on function account_plan(uuid) to shorthop_worker;
-- Events are added and read; only functions of the owner number them and delete old ones.
revoke update, delete on events, event_floors, event_cuts, event_heads from shorthop_api;
revoke insert on event_floors, event_cuts, event_heads from shorthop_api;
grant update (signature) on event_floors to shorthop_api;
grant select, insert on events to shorthop_worker;
grant select on event_readers to shorthop_worker;
grant select, update on event_progress to shorthop_worker;
-- Events of clicks are written within the budget of a day, which only that function writes.
revoke insert, update, delete on click_event_days from shorthop_api;
grant execute on function record_click_events(jsonb, jsonb) to shorthop_worker;
grant execute on function number_events(uuid, text) to shorthop_api, shorthop_worker;
grant execute on function delete_old_events(integer, integer, integer) to shorthop_api;
-- Versions of links are drawn by a function, which only the API may call.
grant execute on function next_link_version(), next_link_versions(integer) to shorthop_api;
commit;
