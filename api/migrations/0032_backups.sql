-- When backups of each place were made and proven, for the metrics of the API. `shorthop backup` writes it, as the owner.
create table backups (
  place text primary key check (length(place) between 1 and 2000),
  -- When the newest backup was made, and when the newest was made that a drill has restored.
  made_at timestamptz(3),
  proven_at timestamptz(3)
);
