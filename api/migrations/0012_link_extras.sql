-- What decides beside a link's destination: its schedule, whether it is disabled, and so on, as the API has it. Most links
-- have none.
alter table links add column extras jsonb;

-- A process of a version without extras rebuilds a link's record from the columns it knows, and its record would strip the
-- extras. Its change fails instead, with a code that it reports as a temporary failure (503), so that the client repeats
-- the request and reaches a newer process. A record with extras, and a deletion, name no such link.
create function refuse_stripped_record() returns trigger language plpgsql as $$
begin
  if exists (select from links where id = (new.record ->> 'link_id')::uuid and extras is not null) then
    raise exception 'The record has no extras, but its link has.' using errcode = '57P03';
  end if;
  return new;
end
$$;

create trigger link_outbox_keeps_extras before insert on link_outbox
  for each row when (new.record ->> 'state' = 'active' and not new.record ? 'extras')
  execute function refuse_stripped_record();
