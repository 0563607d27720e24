-- Keys that count toward an account's quota, however many it has revoked or let expire. Built while keys are used; a
-- build that was cut off leaves an index that is not valid, so it begins by dropping it.

drop index concurrently if exists api_keys_active;

create index concurrently api_keys_active on api_keys (account_id, mode, expires_at) where revoked_at is null;
