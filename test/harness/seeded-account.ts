/** An account with links and clicks, whose pages tests and screenshots visit. */
import { type Client, createClient, type NewLink } from "../../clients/typescript/src/index.ts";
import { decodeId } from "../../shared/ids.ts";
import { admin, createAccount, runQuery } from "./admin.ts";
import { addDomain } from "./dashboard-page.ts";
import { createUser, type TestUser } from "./dashboard.ts";
import type { Dns } from "./dns.ts";
import { createPng } from "./png.ts";
import type { SharedStack } from "./stack.ts";

const LINKS = [
  ["spring", "Spring sale", "https://shop.example.com/sale?season=spring", ["marketing", "q2"]],
  ["launch", "Product launch video", "https://video.example.com/watch/launch-2026", ["marketing"]],
  ["docs", "Getting started", "https://docs.example.com/guides/getting-started", ["docs"]],
  ["jobs", "We are hiring", "https://example.com/careers/engineering", []],
  ["talk", "Conference talk", "https://conf.example.com/2026/talks/short-links", ["events"]],
  ["letter", "Newsletter, November", "https://letters.example.com/2026/11?issue=42", ["marketing"]],
] as const;

const RULED: NewLink = {
  alias: "tour-app",
  title: "The app",
  url: "https://example.com/app",
  rules: [
    {
      url: "https://apps.apple.com/app/id1",
      conditions: [
        { type: "os", in: ["iOS"] },
        { type: "device", in: ["tablet"] },
      ],
    },
    {
      url: "https://example.com/de",
      conditions: [
        { type: "country", in: ["DE", "AT"] },
        {
          type: "schedule",
          timezone: "Europe/Berlin",
          days: [1, 2, 3, 4, 5, 6, 7],
          from: "00:00",
          to: "24:00",
        },
      ],
    },
  ],
  split: {
    arms: [
      { url: "https://example.com/app-b", weight: 30 },
      { url: "https://example.com/app-c", weight: 20 },
    ],
  },
};

/** A link with settings, and links in every state that lists show. */
const SET: NewLink = {
  alias: "tour-card",
  title: "Invitation",
  url: "https://example.com/party",
  max_clicks: 250,
  starts_at: "2026-01-01T08:00:00Z",
  expires_at: "2099-01-01T00:00:00Z",
  preview: {
    title: "You are invited",
    description: "An evening with friends, music and a very long table. Bring whom you like.",
    image: "https://images.example.com/card.svg",
  },
};

const STATES: readonly NewLink[] = [
  { alias: "tour-off", title: "Last year’s sale", url: "https://example.com/old", disabled: true },
  {
    alias: "tour-soon",
    title: "Next year",
    url: "https://example.com/n",
    starts_at: "2098-01-01T00:00:00Z",
  },
  { alias: "tour-down", title: "A guest’s page", url: "https://guests.example.com/1" },
];

const CLICKS = 24_000;

/** Inserts clicks within ClickHouse: more by day than by night, more recent than old ones. */
const HISTORY = (linkId: string, accountId: string, clicks: number) => `
  INSERT INTO clicks (ts, link_id, account_id, mode, class, visitor, country, region, region_name, city,
                      browser, os, device, referrer, utm_source, journal_id, segment, idx)
  SELECT now64(3, 'UTC') - toUInt32(pow(rand(1) / 4294967295, 1.6) * 80 * 86400) - (rand(2) % 43200), '${linkId}',
         '${accountId}', 'live', if(number % 11 = 0, 'bot', 'human'), cityHash64(rand(3) % ${clicks}),
         ['US', 'DE', 'GB', 'IN', 'BR', 'JP', 'FR', 'AU', 'ZA', 'CA'][1 + intDiv(rand(4) % 100, 10)
           * (1 - rand(5) % 2)] AS country,
         'X', concat('Region of ', country), concat('City of ', country),
         ['Chrome', 'Safari', 'Firefox', 'Edge'][1 + rand(6) % 4],
         ['Windows', 'iOS', 'Android', 'macOS', 'Linux'][1 + rand(7) % 5],
         ['mobile', 'desktop', 'desktop', 'tablet'][1 + rand(8) % 4],
         ['direct', 'google.com', 'news.ycombinator.com', 'linkedin.com', 'bsky.app'][1 + rand(9) % 5],
         ['newsletter', '', 'ads'][1 + rand(10) % 3],
         '${accountId}', 0, 0
    FROM numbers(${clicks})
  SETTINGS max_partitions_per_insert_block = 0`;

/** Inserts failed requests for a link, of the last days. */
const FAILURES = (linkId: string, accountId: string) => `
  INSERT INTO failures (account_id, mode, domain, link_id, reason, bucket, requests)
  SELECT '${accountId}', 'live', '', '${linkId}', ['expired', 'wrong_password', 'limit_reached'][1 + number % 3],
         toStartOfHour(now()) - number * 86400, 1 + number
    FROM numbers(12)`;

export type SeededAccount = {
  user: TestUser;
  account: string;
  /** The link with most of the clicks, one with rules and a split, and one that is taken down. */
  link: string;
  ruled: string;
  down: string;
  /** The page of shared statistics of the account, with its branding, and one with a password. */
  share: string;
  locked: string;
  /** A webhook whose receiver cannot be reached. */
  webhook: string;
};

/** Creates the account, its users, links, clicks and a domain. */
export async function seedAccount(stack: SharedStack, dns: Dns): Promise<SeededAccount> {
  const { api_url } = stack.info();
  const { id: account, key } = await createAccount(stack, "business");
  const user = await createUser(stack, account);
  await createUser(stack, account, "member");
  await createUser(stack, account, "viewer");
  const client = createClient({ baseUrl: api_url, apiKey: key });
  // Before the links: it gets an event for each. Nobody can have this name (RFC 6761).
  const webhook = await client.webhooks.create({
    url: "https://hooks.example.invalid/shorthop",
    events: ["link.created", "link.updated"],
    description: "The shop's stock",
  });
  await client.keys.create({
    name: "CI",
    scopes: ["links:read", "links:write"],
    allowed_networks: ["203.0.113.0/24", "2001:db8:85a3:8d3:1319:8a2e:370:7348"],
  });
  const report = await client.reports.create({ name: "Monday numbers", period: "weekly" });
  await client.reports.send(report.id);
  const ids: string[] = [];
  for (const [alias, title, url, tags] of LINKS) {
    const { id } = await client.links.create({
      alias: `tour-${alias}`,
      title,
      url,
      tags: [...tags],
    });
    ids.push(id);
    const [linkId = "", accountId = ""] = [decodeId("link", id), decodeId("acct", account)];
    await runQuery(stack, HISTORY(linkId, accountId, Math.round(CLICKS / ids.length ** 2)));
    await runQuery(stack, FAILURES(linkId, accountId));
  }
  await client.links.update(ids.at(-1) ?? "", {
    title: "Newsletter, November 2026",
    tags: ["marketing", "letters"],
    expires_at: "2099-01-01T00:00:00Z",
  });
  await client.domains.create("go.tour.example");
  const { url: locked } = await client.shares.create({
    name: "For the customer",
    breakdowns: ["country", "utm_campaign"],
    password: "a long password",
    expires_at: "2099-01-01T00:00:00Z",
  });
  await client.branding.update({
    name: "Tour & Sons",
    color: "#0f766e",
    logo: createPng(240, 56).toString("base64"),
  });
  const { url: share } = await client.shares.create({
    name: "Spring campaign",
    timezone: "Europe/Berlin",
    breakdowns: ["country", "city", "device", "browser", "referrer", "utm_source"],
  });
  await createDomainWithSettings(client, dns);
  const { data } = await client.links.createMany([...STATES, SET, RULED]);
  await admin(stack, ["links", "disable", "--alias", "tour-down"]);
  const [down, , ruled] = data.slice(-3).map((entry) => ("link" in entry ? entry.link.id : ""));
  return {
    user,
    account,
    link: ids[0] ?? "",
    ruled: ruled ?? "",
    down: down ?? "",
    share,
    locked,
    webhook: webhook.id,
  };
}

async function createDomainWithSettings(client: Client, dns: Dns): Promise<void> {
  const id = await addDomain(client, dns, "sho.tour.example");
  await client.domains.update(id, {
    root_url: "https://www.tour.example/",
    not_found_url: "https://www.tour.example/not-found",
    case_sensitive: false,
    assetlinks: [{ relation: ["delegate_permission/common.handle_all_urls"] }],
  });
}
