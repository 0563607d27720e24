-- Whether the receiver took long recently: workers then deliver one event at a time to it, apart from the others.
alter table webhooks add column is_slow boolean not null default false;

-- For the roles that deliver, whatever they are called.
do $$
declare role text;
begin
  for role in
    select distinct acl.grantee::regrole::text from pg_attribute, aclexplode(attacl) acl
     where attrelid = 'webhooks'::regclass and attname = 'is_full' and acl.grantee <> 0
  loop
    execute format('grant update (is_slow) on webhooks to %s', role);
  end loop;
end
$$;
