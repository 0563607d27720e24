-- The e-mail address of an invited user who has made room for another user of it: then `email`, by which the
-- authentication library finds a user, is a name that nobody else has. Null for all others.
alter table users add column address text;

create index users_by_address on users (address) where address is not null;
