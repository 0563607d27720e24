-- Commits after each batch, which a transaction around it would not allow.
call count_tags_of_links();
