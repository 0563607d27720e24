/**
 * Fills an account with links that look like real ones: titles of a few words, destinations on a few thousand hosts,
 * clicks by a power law. Writes only to PostgreSQL: redirectors do not learn of these links.
 */
import type postgres from "postgres";

/** Links per statement, so that none runs for long. */
const BATCH = 50_000;

/** Adds `count` live links to the account, and updates PostgreSQL's statistics. */
export async function seedLinks(
  sql: postgres.Sql,
  accountId: string,
  count: number,
  onProgress: (inserted: number) => void = () => undefined,
): Promise<void> {
  for (let from = 1; from <= count; from += BATCH) {
    await seedBatch(sql, accountId, from, Math.min(count, from + BATCH - 1));
    onProgress(Math.min(count, from + BATCH - 1));
  }
  await sql`vacuum analyze links`;
  await sql`vacuum analyze link_counters`;
}

async function seedBatch(
  sql: postgres.Sql,
  accountId: string,
  from: number,
  to: number,
): Promise<void> {
  await sql`
    with seed as (
      select i, md5(${accountId} || i::text) as h,
             now() - make_interval(secs => (10000000 - i) * 3) as created_at
        from generate_series(${from}::integer, ${to}::integer) i
    ), words as (
      select array['summer','sale','newsletter','launch','guide','invoice','webinar','holiday','careers',
                   'pricing','podcast','survey','report','update','event','coupon'] as word
    ), inserted as (
      insert into links (id, account_id, mode, alias, original_url, target_url, title, tags, version,
                         created_at, updated_at)
      select (lpad(to_hex((extract(epoch from created_at) * 1000)::bigint), 12, '0') || '7' || substr(h, 1, 3)
              || '8' || substr(h, 4, 15))::uuid,
             ${accountId}::uuid, 'live', 's' || substr(h, 1, 14), url.text, url.text,
             word[1 + ('x' || substr(h, 5, 2))::bit(8)::integer % 16] || ' '
               || word[1 + ('x' || substr(h, 7, 2))::bit(8)::integer % 16] || ' ' || i,
             array[word[1 + ('x' || substr(h, 9, 2))::bit(8)::integer % 16]],
             nextval('link_version'), created_at, created_at
        from seed, words,
             lateral (select 'https://shop-' || (('x' || substr(h, 11, 3))::bit(12)::integer) || '.example.com/'
                             || word[1 + ('x' || substr(h, 15, 2))::bit(8)::integer % 16] || '/' || substr(h, 17, 12)
                             || '?ref=' || i as text) url
      returning id
    )
    insert into link_counters (link_id, account_id, mode, clicks, unique_clicks, last_click_at)
    select id, ${accountId}::uuid, 'live', clicks, clicks * 7 / 10, now() - make_interval(days => 90) * random()
      from inserted, lateral (select floor(3 * (1 - random()) ^ -0.8)::bigint as clicks where id is not null) power`;
}
