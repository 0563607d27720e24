-- One row for each stream among which the links feed is divided; processes of earlier versions know only that of LINKS.
alter table link_feed
  drop column only_row,
  add column name text not null default 'LINKS' primary key;
