-- The time of a link's last click by a person, which workers keep up to date beside its counters. The epoch stands for none: it
-- sorts behind all others, and a position in a list can be compared with it.
alter table link_counters add column if not exists last_click_at timestamptz(3) not null default 'epoch';

-- A build that was cut off leaves an index that is not valid, so it begins by dropping it.
drop index concurrently if exists link_counters_by_last_click;

create index concurrently link_counters_by_last_click
  on link_counters (account_id, mode, last_click_at desc, link_id desc);
