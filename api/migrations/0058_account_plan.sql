-- The plan of an account, without access to accounts: it decides how many deliveries workers make for it.
create function account_plan(p_account_id uuid) returns text
language sql stable security definer set search_path = pg_catalog, public as $$
  select plan from accounts where id = p_account_id
$$;

revoke execute on function account_plan(uuid) from public;

-- For the roles that deliver, whatever they are called.
do $$
declare role text;
begin
  for role in
    select distinct acl.grantee::regrole::text from pg_attribute, aclexplode(attacl) acl
     where attrelid = 'webhooks'::regclass and attname = 'is_full' and acl.grantee <> 0
  loop
    execute format('grant execute on function account_plan(uuid) to %s', role);
  end loop;
end
$$;
