-- What is known of the links feed, and versions that never go back, whatever happens to this database.

-- One row. The stream holds every link while `incomplete_since` is null. A stream that is younger than this row knows, or
-- that has fewer messages, has lost some; a stream with a later `version` than this row's has seen a later database.
create table link_feed (
  only_row boolean primary key default true check (only_row),
  -- the stream's creation time, which identifies it
  stream text,
  last_sequence bigint not null default 0,
  messages bigint not null default 0,
  -- drawn when the stream was last filled, before any of its links was; null before the first check
  epoch bigint,
  -- drawn with each check
  version bigint not null default 0,
  incomplete_since bigint,
  -- links of the running or of the last filling
  filled_links bigint not null default 0
);
insert into link_feed default values;

-- Draws a version: the next one, but no less than the time in microseconds. A database that was restored from a backup, or
-- a standby that lacks the last transactions, would otherwise draw versions that redirectors have seen already. The caller
-- holds the lock of the alias, so the versions of an alias ascend also where two callers set the sequence at once.
-- As its owner, because processes may not set the sequence.
create function next_link_version() returns bigint
language plpgsql volatile security definer set search_path = pg_catalog, public as $$
declare
  drawn bigint := nextval('public.link_version');
  micros bigint := floor(extract(epoch from clock_timestamp()) * 1000000);
begin
  if drawn >= micros then return drawn; end if;
  if (select last_value from public.link_version) < micros then
    perform setval('public.link_version', micros);
  end if;
  return micros;
end
$$;

-- Keeps versions from being drawn up to `version`, which was published by a later state of this database.
create function skip_link_versions(version bigint) returns void
language sql volatile security definer set search_path = pg_catalog, public as $$
  select setval('public.link_version', greatest(last_value, $1)) from public.link_version
$$;

-- For the roles that may draw from the sequence, whatever they are called.
revoke execute on function next_link_version(), skip_link_versions(bigint) from public;
do $$
declare role text;
begin
  for role in
    select acl.grantee::regrole::text from pg_class, aclexplode(relacl) acl
     where pg_class.oid = 'link_version'::regclass and acl.privilege_type = 'USAGE' and acl.grantee <> 0
  loop
    execute format('grant execute on function next_link_version(), skip_link_versions(bigint) to %s', role);
  end loop;
end
$$;

-- From now on also what processes of earlier versions draw is later than what was drawn before.
select skip_link_versions(next_link_version());
