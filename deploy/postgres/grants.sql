-- Grants on tables, which exist after `shorthop migrate`. Run it with psql as a superuser or the owner, in the
-- database `shorthop`; running it again changes nothing.
\set ON_ERROR_STOP on

begin;
-- What was there before the roles; what came later has these by default (roles.sql).
grant select, insert, update, delete on all tables in schema public to shorthop_api;
grant usage on all sequences in schema public to shorthop_api;
-- Only the owner writes these: applied migrations, the limits of plans, and which backups are proven.
revoke insert, update, delete
  on schema_migrations, plans, endpoint_limits, suspension_rule, quotas, plan_quotas, backups
  from shorthop_api;
-- The worker writes the totals of links, and reads nothing else.
grant select, update on link_counters to shorthop_worker;
-- Versions of links are drawn by functions, which only the API may call.
grant execute on function next_link_version(), skip_link_versions(bigint) to shorthop_api;
commit;
