-- Who still sends a key that was rotated is told so: the key that replaced it, which may be gone by now.
alter table api_keys add column replaced_by uuid;
