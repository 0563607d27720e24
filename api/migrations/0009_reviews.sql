-- Links that an operator should look at: their destination came to be on a list of hosts, or visitors reported them.
create table link_reviews (
  link_id uuid primary key references links (id) on delete cascade,
  -- the list that had it last, if one had
  list text,
  -- what visitors wrote, of so many as are kept
  reports text[] not null default '{}',
  created_at timestamptz(3) not null default now(),
  -- null while nobody has decided
  verdict text check (verdict in ('kept', 'taken_down')),
  -- the version of the link that was decided about: a later one may lead elsewhere
  decided_version bigint
);
create index link_reviews_open on link_reviews (created_at desc, link_id) where verdict is null;

-- How far the links were compared with the lists of hosts.
create table host_list_sweep (
  only_row boolean primary key default true check (only_row),
  -- identifies the contents of the lists, and since when a process has had them
  lists text not null default '',
  changed_at timestamptz(3) not null default 'epoch',
  -- the last link that was compared; null before the first
  link_id uuid,
  done boolean not null default true
);
insert into host_list_sweep default values;
