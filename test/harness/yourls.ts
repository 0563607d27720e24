/** The tables of YOURLS, as it creates them, with links and visits of several years. */
import type { SQL } from "bun";

import { createRandom } from "./random.ts";

const TABLES = [
  `create table yourls_url (
     keyword varchar(100) character set utf8mb4 collate utf8mb4_bin not null default '',
     url text character set utf8mb4 collate utf8mb4_bin not null,
     title text collate utf8mb4_unicode_ci default null,
     timestamp timestamp not null default current_timestamp(),
     ip varchar(41) collate utf8mb4_unicode_ci not null,
     clicks int(10) unsigned not null,
     primary key (keyword), key ip (ip), key timestamp (timestamp), key url_idx (url(30))
   ) default charset=utf8mb4 collate=utf8mb4_bin`,
  `create table yourls_log (
     click_id int(11) not null auto_increment,
     click_time datetime not null,
     shorturl varchar(100) binary not null,
     referrer varchar(200) not null,
     user_agent varchar(255) not null,
     ip_address varchar(41) not null,
     country_code char(2) not null,
     primary key (click_id), key shorturl (shorturl)
   ) auto_increment=1 default charset=utf8mb4 collate=utf8mb4_unicode_ci`,
];

/** User agents of visitors; the last one is a bot's. */
const AGENTS: [string, ...string[]] = [
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36",
  "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 Mobile/15E148 Safari/604.1",
  "Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0",
  "Twitterbot/1.0",
];

const REFERRERS: [string, ...string[]] = [
  "direct",
  "https://news.example.com/page",
  "https://social.example.org/",
];
const COUNTRIES: [string, ...string[]] = ["DE", "US", "FR", ""];

/** Rows of one statement. */
const ROWS = 5_000;

const SECOND_MS = 1_000;
const DAY_MS = 86_400 * SECOND_MS;

/** A visit that is in the log: its keyword, and its time in Unix milliseconds. */
export type LoggedVisit = { keyword: string; at: number };

export type History = { links: number; visits: number; days: number; seed?: number };

export const keywordOf = (n: number): string => `yourls-${n}`;
export const urlOf = (n: number): string => `https://example.com/page/${n}?a=1`;

const toText = (time: number): string =>
  new Date(time).toISOString().slice(0, "YYYY-MM-DDTHH:MM:SS".length).replace("T", " ");

const quote = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/**
 * Creates the tables with this many links, and visits of the days before today, in the order of
 * their times. `note` gets each visit.
 */
export async function fillYourls(
  sql: SQL,
  { links, visits, days, seed = 1 }: History,
  note: (visit: LoggedVisit) => void = () => undefined,
): Promise<void> {
  for (const table of TABLES) await sql.unsafe(table);
  const random = createRandom(seed);
  const begin = Math.floor(Date.now() / DAY_MS) * DAY_MS - days * DAY_MS;
  for (let from = 0; from < links; from += ROWS) {
    const rows = Array.from({ length: Math.min(ROWS, links - from) }, (_, i) => {
      const n = from + i;
      const title = n % 3 === 0 ? "null" : quote(`Page ${n} — "O'Brien"`);
      const created = toText(begin + Math.floor(((n / links) * days * DAY_MS) / 2));
      return `(${quote(keywordOf(n))},${quote(urlOf(n))},${title},${quote(created)},'192.0.2.1',0)`;
    });
    await sql.unsafe(`insert into yourls_url values ${rows.join(",")}`);
  }
  const step = (days * DAY_MS) / visits;
  for (let from = 0; from < visits; from += ROWS) {
    const rows = Array.from({ length: Math.min(ROWS, visits - from) }, (_, i) => {
      const at = Math.floor((begin + (from + i) * step) / SECOND_MS) * SECOND_MS;
      // Some links have most of the visits.
      const keyword = keywordOf(random.between(0, random.between(0, links - 1)));
      note({ keyword, at });
      const address = `203.0.113.${random.between(1, 200)}`;
      return `(${quote(toText(at))},${quote(keyword)},${quote(random.pick(REFERRERS))},${quote(random.pick(AGENTS))},'${address}','${random.pick(COUNTRIES)}')`;
    });
    await sql.unsafe(
      `insert into yourls_log (click_time, shorturl, referrer, user_agent, ip_address, country_code) values ${rows.join(",")}`,
    );
  }
}
