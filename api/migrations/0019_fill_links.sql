-- Has every link published again. A stream that was found complete at the first check got an epoch above the versions of its
-- links, so that redirectors took them for links that are no more.
update link_feed set incomplete_since = next_link_version() where epoch is not null and incomplete_since is null;
