-- Archived links, takedowns by an operator, and settings of domains. New columns of links are nullable, null for no: a
-- process of an earlier version inserts null into columns that it does not know.

alter table links
  add column archived boolean,
  -- by an operator, as a single link; accounts and hosts are in the table takedowns
  add column taken_down boolean,
  -- the alias is unique and matched in lower case, as the link's domain wants it
  add column folded boolean;

-- A list without archived links knows its total as well.
alter table link_totals add column archived bigint not null default 0;

create or replace function count_links() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into link_totals as total (account_id, mode, links, archived)
    select account_id, mode, count(*), count(*) filter (where archived) from changed group by account_id, mode
    on conflict (account_id, mode) do update
       set links = total.links + excluded.links, archived = total.archived + excluded.archived;
  else
    update link_totals total set links = total.links - gone.links, archived = total.archived - gone.archived
      from (select account_id, mode, count(*) as links, count(*) filter (where archived) as archived
              from changed group by account_id, mode) gone
     where total.account_id = gone.account_id and total.mode = gone.mode;
  end if;
  return null;
end
$$;

create function count_archived() returns trigger language plpgsql as $$
begin
  update link_totals set archived = archived + case when new.archived then 1 else -1 end
   where account_id = new.account_id and mode = new.mode;
  return null;
end
$$;

create trigger links_archived after update of archived on links
  for each row when (coalesce(old.archived, false) <> coalesce(new.archived, false))
  execute function count_archived();

-- Accounts and destination hosts whose links an operator has taken down.
create table takedowns (
  kind text not null check (kind in ('account', 'host')),
  -- the account's UUID, or the host in lower case
  subject text not null,
  created_at timestamptz(3) not null default now(),
  primary key (kind, subject)
);

-- A process of an earlier version would publish a link without what decides about it: its change fails, with a code that
-- it reports as a temporary failure (503), so that the repeat reaches a newer process. When its destination last got another
-- host decides nothing, and is published again with the next change by a newer process.
create or replace function refuse_stripped_record() returns trigger language plpgsql as $$
begin
  if exists (
    select from links
     where id = (new.record ->> 'link_id')::uuid
       and (extras - 'host_changed_at' <> '{}' and new.record ->> 'state' = 'active' and not new.record ? 'extras'
            or taken_down and not coalesce(new.record -> 'extras' ? 'taken_down', false))
  ) then
    raise exception 'The record lacks extras that its link has.' using errcode = '57P03';
  end if;
  return new;
end
$$;

drop trigger link_outbox_keeps_extras on link_outbox;
create trigger link_outbox_keeps_extras before insert on link_outbox
  for each row when (new.record ? 'link_id') execute function refuse_stripped_record();

-- Deleted or renamed, the link could be created again under its alias, and would redirect.
create function refuse_evasion() returns trigger language plpgsql as $$
begin
  raise exception 'The link has been taken down.' using errcode = '57P03';
end
$$;

create trigger links_keep_takedown before delete on links
  for each row when (old.taken_down) execute function refuse_evasion();
create trigger links_keep_alias before update of alias on links
  for each row when (old.taken_down and new.alias <> old.alias) execute function refuse_evasion();

alter table domains
  add column case_sensitive boolean not null default true,
  -- while the links of a domain are published again under aliases of the other case
  add column switching boolean not null default false,
  -- where visitors are led who find no link, and files for apps
  add column settings jsonb,
  -- of its record in the links feed; 0 when there is none
  add column version bigint not null default 0,
  -- when the proof was last looked up, and since when answers lack it
  add column checked_at timestamptz(3),
  add column missing_since timestamptz(3),
  -- while all links are being published, or withdrawn from a domain that is not verified any more
  add column republishing boolean not null default false;

create index domains_republishing on domains (id) where republishing;
create index domains_by_check on domains (coalesce(checked_at, verified_at)) where verified_at is not null;

create index domains_switching on domains (id) where switching;

-- Earlier versions know nothing of aliases in lower case. What they write for a domain that has them is refused, and so is
-- what was prepared just before the domain changed.
create function refuse_other_case() returns trigger language plpgsql as $$
declare
  v_domain domains;
begin
  select * into v_domain from domains where id = new.domain_id for share;
  if v_domain.case_sensitive = coalesce(new.folded, false) then
    raise exception 'The domain has aliases of the other case.' using errcode = '57P03';
  end if;
  if v_domain.id is not null and v_domain.verified_at is null then
    raise exception 'The domain is not verified any more.' using errcode = '57P03';
  end if;
  return new;
end
$$;

create trigger links_keep_case before insert on links
  for each row when (new.domain_id is not null) execute function refuse_other_case();

create function refuse_unfolded_record() returns trigger language plpgsql as $$
begin
  if exists (
    select from domains
     where host = new.record ->> 'domain' and verified_at is not null and not case_sensitive
  ) then
    raise exception 'The domain has aliases in lower case.' using errcode = '57P03';
  end if;
  return new;
end
$$;

create trigger link_outbox_keeps_case before insert on link_outbox
  for each row when (new.record ->> 'domain' <> '' and new.record ->> 'alias' <> lower(new.record ->> 'alias')
                     and not new.record ? 'former')
  execute function refuse_unfolded_record();
