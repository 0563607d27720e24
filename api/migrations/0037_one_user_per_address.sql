-- One user per e-mail address (users.email, which is unique). Users who had made room for another one of their address go,
-- and the column of their former addresses with them.
delete from users where address is not null;

alter table users drop column address;

alter table users add constraint users_email_lower_case check (email = lower(email));
