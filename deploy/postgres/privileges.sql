-- What the roles of roles.sql may do in the database `shorthop`, apart from its tables (grants.sql). roles.sql includes
-- it; running it again changes nothing.
revoke all on database shorthop from public;
grant connect on database shorthop to shorthop_api, shorthop_worker;
revoke all on schema public from public;
grant usage on schema public to shorthop_api, shorthop_worker;
-- Also for tables of later migrations, so that the API works as soon as they are applied.
alter default privileges for role shorthop in schema public
  grant select, insert, update, delete on tables to shorthop_api;
alter default privileges for role shorthop in schema public grant usage on sequences to shorthop_api;
