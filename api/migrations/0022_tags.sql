-- The tags of each account and mode, with the number of their links. A row exists while a link has the tag.
create table tags (
  account_id uuid not null,
  mode text not null,
  name text collate "C" not null,
  -- one of the names in shared/contracts/tag-schemas.ts
  color text,
  links bigint not null,
  primary key (account_id, mode, name)
);

-- Most links first, then by name.
create index tags_by_links on tags (account_id, mode, (-links), name);

-- Up to where links have been counted, by id. Migration 23 counts those that were there before the triggers, batch by batch.
-- The triggers count changes of links up to the position, and later links are counted as they are then.
create table tag_counting (position uuid not null);
insert into tag_counting (position) values ('00000000-0000-0000-0000-000000000000');

-- Adds up changes of tags in one row for each tag. The lock of the totals orders all changes of an account's tags; it is
-- the last one that a change of links takes.
create function add_to_tags(p_account_ids uuid[], p_modes text[], p_names text[], p_changes bigint[]) returns void
language plpgsql as $$
begin
  perform from link_totals total
    where (total.account_id, total.mode) in (select * from unnest(p_account_ids, p_modes))
    order by total.account_id, total.mode for update;
  insert into tags as counted (account_id, mode, name, links)
  select * from unnest(p_account_ids, p_modes, p_names, p_changes) change (account_id, mode, name, links)
   where change.links > 0 order by account_id, mode, name
  on conflict (account_id, mode, name) do update set links = counted.links + excluded.links;
  update tags counted set links = counted.links + change.links
    from unnest(p_account_ids, p_modes, p_names, p_changes) change (account_id, mode, name, links)
   where change.links < 0
     and (counted.account_id, counted.mode, counted.name) = (change.account_id, change.mode, change.name);
  delete from tags counted
   using unnest(p_account_ids, p_modes, p_names, p_changes) change (account_id, mode, name, links)
   where change.links < 0 and counted.links <= 0
     and (counted.account_id, counted.mode, counted.name) = (change.account_id, change.mode, change.name);
end
$$;

-- Until the transaction ends, no batch is counted, so the position stays. Taken before all other locks of a statement:
-- otherwise one could wait for another behind a batch that waits for that one.
create function hold_tag_counting() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(7408222);
  return null;
end
$$;

create trigger links_hold_tag_counting before insert or update or delete on links
  for each statement execute function hold_tag_counting();

-- Migration 24 replaces it by one without the position.
create function count_tags() returns trigger language plpgsql as $$
declare
  v_position uuid;
  v_account_ids uuid[];
  v_modes text[];
  v_names text[];
  v_changes bigint[];
begin
  select position into strict v_position from tag_counting;
  if tg_op = 'INSERT' then
    select array_agg(account_id), array_agg(mode), array_agg(name), array_agg(links)
      into v_account_ids, v_modes, v_names, v_changes
      from (select account_id, mode, name, count(*) as links
              from changed, unnest(tags) name where id <= v_position group by 1, 2, 3) change;
  elsif tg_op = 'DELETE' then
    select array_agg(account_id), array_agg(mode), array_agg(name), array_agg(links)
      into v_account_ids, v_modes, v_names, v_changes
      from (select account_id, mode, name, -count(*) as links
              from changed, unnest(tags) name where id <= v_position group by 1, 2, 3) change;
  else
    select array_agg(account_id), array_agg(mode), array_agg(name), array_agg(links)
      into v_account_ids, v_modes, v_names, v_changes
      from (select account_id, mode, name, sum(change)::bigint as links
              from (select new_link.account_id, new_link.mode, new_link.tags as new_tags, old_link.tags as old_tags
                      from changed new_link join former old_link on old_link.id = new_link.id
                     where new_link.tags is distinct from old_link.tags and new_link.id <= v_position) link,
                   lateral (select name, 1 as change from unnest(new_tags) name
                            union all select name, -1 from unnest(old_tags) name) each
             group by 1, 2, 3 having sum(change) <> 0) change;
  end if;
  if v_names is not null then
    perform add_to_tags(v_account_ids, v_modes, v_names, v_changes);
  end if;
  return null;
end
$$;

-- Triggers fire in the order of their names: those of link_totals come first.
create trigger links_tags_made after insert on links
  referencing new table as changed for each statement execute function count_tags();
create trigger links_tags_gone after delete on links
  referencing old table as changed for each statement execute function count_tags();
create trigger links_tags_changed after update on links
  referencing old table as former new table as changed for each statement execute function count_tags();

-- Counts the links that were there before the triggers, in transactions of 5,000 links, while others change links. It can
-- be interrupted, and then continues where it was.
create procedure count_tags_of_links() language plpgsql as $$
declare
  v_from uuid;
  v_to uuid;
begin
  loop
    -- Waits for changes of links that have read the position; those that come meanwhile wait for this batch.
    perform pg_advisory_xact_lock(7408222);
    select position into strict v_from from tag_counting;
    v_to := null;
    select id into v_to
      from (select id from links where id > v_from order by id limit 5000) batch order by id desc limit 1;
    insert into tags as counted (account_id, mode, name, links)
    select account_id, mode, name, count(*) from links, unnest(tags) name
     where id > v_from and id <= v_to group by 1, 2, 3
    on conflict (account_id, mode, name) do update set links = counted.links + excluded.links;
    update tag_counting set position = coalesce(v_to, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
    commit;
    exit when v_to is null;
  end loop;
end
$$;
