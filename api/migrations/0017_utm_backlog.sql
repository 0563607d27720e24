-- Links with UTM parameters whose records in the links feed were published by versions that left these out. API processes
-- publish each again (api/links/republish/utm.ts) and delete its row.
create table link_utm_backlog (link_id uuid primary key);

insert into link_utm_backlog (link_id)
select id from links
 where utm_source is not null or utm_medium is not null or utm_campaign is not null
    or utm_term is not null or utm_content is not null;
