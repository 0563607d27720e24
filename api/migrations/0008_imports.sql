-- Imports of links and visits from other products (api/imports).
create table imports (
  -- the journal of its clicks, too
  id uuid primary key,
  -- what its clicks have in ClickHouse, where those of redirectors have 0
  number integer generated always as identity unique,
  account_id uuid not null references accounts (id),
  mode text not null check (mode in ('live', 'test')),
  source text not null,
  -- names what is imported, without credentials: nothing is imported twice
  identity text not null,
  options jsonb not null,
  state text not null default 'links' check (state in ('links', 'visits', 'counters', 'done', 'undoing', 'undone')),
  -- after the last page whose links or visits are written; null at their beginning
  page_end jsonb,
  -- segments of clicks that are published, and of the page that is being published the clicks of each
  segments integer not null default 0,
  publishing integer[] not null default '{}',
  created bigint not null default 0,
  same bigint not null default 0,
  taken bigint not null default 0,
  refused bigint not null default 0,
  visits bigint not null default 0,
  -- visits of links that were not imported, or of no time
  left_out bigint not null default 0,
  created_at timestamptz(3) not null default now()
);

create unique index imports_once on imports (account_id, mode, source, identity) where state <> 'undone';

-- The links of an import, by what its source calls them.
create table import_links (
  import_id uuid not null references imports (id) on delete cascade,
  source_id text collate "C" not null,
  link_id uuid not null,
  -- of the short URL, which a visit has
  host text not null,
  -- whether the import created it, or found it
  created boolean not null,
  -- while the import is undone: clicks of people and of bots that are being deleted
  deleted_clicks bigint not null default 0,
  deleted_bots bigint not null default 0,
  primary key (import_id, source_id)
);
