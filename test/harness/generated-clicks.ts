/**
 * Clicks that ClickHouse generates itself: of many links, cities, agents and referrers, a few of
 * which have most of them.
 */

/** Links with clicks, by rank. */
export const LINKS = 100_000;

/** Ids of links are this and their rank by clicks. */
export const RANK_ID_PREFIX = "01900000-0000-7000-8000-";

/** The id of a link by its rank, as an expression of ClickHouse. */
export const ID_OF_RANK = `toUUID(concat('${RANK_ID_PREFIX}', leftPad(lower(hex(rank)), 12, '0')))`;

type GeneratedClicks = {
  accountId: string;
  /** Unix seconds of the first click, and the time over which the clicks are spread evenly. */
  from: number;
  seconds: number;
  clicks: number;
  /** The segment in which they count as received. */
  segment: number;
  /** An expression of ClickHouse for the id of the link with a `rank`. */
  linkId?: string;
};

/**
 * Returns the statement that inserts the clicks. The table drops none of them as repeated, and
 * neither do its views.
 */
export const insertClicks = ({
  accountId,
  from,
  seconds,
  clicks,
  segment,
  linkId = ID_OF_RANK,
}: GeneratedClicks): string => `
    INSERT INTO clicks (ts, link_id, account_id, mode, class, visitor, continent, country, region,
                        region_name, city, browser, os, device, referrer, language, journal_id, segment, idx)
    SELECT toDateTime64(${from}, 3, 'UTC') + toIntervalMillisecond(intDiv(number * ${seconds * 1_000}, ${clicks})),
           ${linkId}, toUUID('${accountId}'), 'live',
           if(r1 % 10 = 0, 'bot', 'human'), sipHash64(rank, r1 % 5000000), 'EU',
           -- Each city is in one region, and each region in one country.
           ['DE','US','FR','GB','IN','BR','JP','ES','IT','PL','NL','SE'][1 + city % 40 % 12],
           concat('R', toString(city % 40)), concat('Region ', toString(city % 40)),
           concat('City ', toString(city)),
           ['Chrome','Safari','Firefox','Edge','Samsung Internet'][1 + r2 % 5],
           ['Windows','iOS','Android','macOS','Linux'][1 + r1 % 5],
           ['mobile','desktop','tablet'][1 + r1 % 3],
           concat('site-', toString(least(intDiv(r2, 7) % 300, r1 % 300)), '.example'), 'en',
           '01900000-0000-7000-8000-000000000002', ${segment}, number % 60000
      FROM (SELECT number, rand(1) AS r1, rand(2) AS r2, least(r2 % 400, r1 % 400) AS city,
                   -- Zipf's law over all links, with an extra share for the first.
                   if(rand(3) % 20 = 0, 1, toUInt32(pow(${LINKS}, rand(4) / 4294967295))) AS rank
              FROM numbers(${clicks}))
    SETTINGS max_insert_threads = 2, max_block_size = 1000000, min_insert_block_size_rows = 1000000,
             insert_deduplicate = 0, deduplicate_blocks_in_dependent_materialized_views = 0`;
