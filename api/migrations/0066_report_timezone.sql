-- One word for a time zone, wherever one is named.
alter table reports rename column time_zone to timezone;
