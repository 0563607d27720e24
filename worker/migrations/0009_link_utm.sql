-- A click on a link with UTM parameters has those where its short URL has none.
ALTER TABLE clicks MODIFY COLUMN utm_source COMMENT 'Of the short URL, else of the link.';
ALTER TABLE clicks MODIFY COLUMN utm_medium COMMENT 'Of the short URL, else of the link.';
ALTER TABLE clicks MODIFY COLUMN utm_campaign COMMENT 'Of the short URL, else of the link.';
ALTER TABLE clicks MODIFY COLUMN utm_term COMMENT 'Of the short URL, else of the link.';
ALTER TABLE clicks MODIFY COLUMN utm_content COMMENT 'Of the short URL, else of the link.';
