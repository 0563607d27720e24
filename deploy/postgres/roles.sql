-- Creates the database and its users, whose passwords are taken from the environment. Run it with psql as a superuser;
-- again, to change the passwords.
\set ON_ERROR_STOP on
\getenv owner_password OWNER_PASSWORD
\getenv api_password API_PASSWORD
\getenv worker_password WORKER_PASSWORD

-- The owner migrates the schema (migrate.env); the others have only the rights that their processes need.
select format('create role %I login', name)
  from unnest(array['shorthop', 'shorthop_api', 'shorthop_worker']) as name
 where not exists (select from pg_roles where rolname = name) \gexec
alter role shorthop password :'owner_password';
alter role shorthop_api password :'api_password';
alter role shorthop_worker password :'worker_password';

-- A server that was set up without a locale has none by itself that knows letters beyond ASCII.
select 'create database shorthop owner shorthop template template0 encoding ''UTF8'' locale ''C.UTF-8'''
 where not exists (select from pg_database where datname = 'shorthop') \gexec
\connect shorthop
\ir privileges.sql
