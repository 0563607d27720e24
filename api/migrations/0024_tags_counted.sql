-- All links are counted: their triggers no longer ask for the position. A later version drops tag_counting, which a trigger
-- may be reading now.
create or replace function count_tags() returns trigger language plpgsql as $$
declare
  v_account_ids uuid[];
  v_modes text[];
  v_names text[];
  v_changes bigint[];
begin
  if tg_op = 'INSERT' then
    select array_agg(account_id), array_agg(mode), array_agg(name), array_agg(links)
      into v_account_ids, v_modes, v_names, v_changes
      from (select account_id, mode, name, count(*) as links
              from changed, unnest(tags) name group by 1, 2, 3) change;
  elsif tg_op = 'DELETE' then
    select array_agg(account_id), array_agg(mode), array_agg(name), array_agg(links)
      into v_account_ids, v_modes, v_names, v_changes
      from (select account_id, mode, name, -count(*) as links
              from changed, unnest(tags) name group by 1, 2, 3) change;
  else
    select array_agg(account_id), array_agg(mode), array_agg(name), array_agg(links)
      into v_account_ids, v_modes, v_names, v_changes
      from (select account_id, mode, name, sum(change)::bigint as links
              from (select new_link.account_id, new_link.mode, new_link.tags as new_tags, old_link.tags as old_tags
                      from changed new_link join former old_link on old_link.id = new_link.id
                     where new_link.tags is distinct from old_link.tags) link,
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

drop trigger links_hold_tag_counting on links;
drop function hold_tag_counting;
drop procedure count_tags_of_links;
