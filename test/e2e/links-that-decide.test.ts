/**
 * Goal: what a link's settings say is what its visitors get, on every redirector, beside any
 * version.
 */
import { describe, expect, test } from "bun:test";

import { type Body, createClient } from "../../clients/typescript/src/index.ts";
import { createAccount, UNLIMITED } from "../harness/admin.ts";
import { ANDROID, call, callOnce, CHROME, codeOf, IPHONE } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { startRedirector } from "../harness/processes.ts";
import { longTest } from "../harness/property-runs.ts";
import { useStack } from "../harness/stack.ts";

const stack = await forFile(useStack());
const { key } = await createAccount(stack, "enterprise", UNLIMITED);
const { links, analytics } = createClient({ baseUrl: stack.info().api_url, apiKey: key });

const DESTINATION = "https://example.com/plain";

const create = (settings: Omit<Body<"createLink">, "url">) =>
  links.create({ url: DESTINATION, ...settings });

/** Follows a link; returns status and destination. */
async function follow(
  alias: string,
  headers: Record<string, string> = {},
  origin = stack.info().short_url,
): Promise<[number, string | null]> {
  const response = await callOnce(`${origin}/${alias}`, { headers });
  return [response.status, response.headers.get("location")];
}

/** Expects where a link leads once a change of it has reached the redirector. */
const expectSoon = (
  alias: string,
  expected: [number, string | null],
  headers: Record<string, string> = {},
): Promise<unknown> =>
  eventually(async () => expect(await follow(alias, headers)).toEqual(expected));

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();

/** Addresses and their countries in the GeoIP data of this stack. */
const PLACES = [
  ["8.8.8.8", "US"],
  ["81.2.69.142", "GB"],
  ["127.0.0.2", "ZZ"],
] as const;

/** The headers of a request that `explain` describes. */
const headersOf = (request: Record<string, string | undefined>): Record<string, string> =>
  Object.fromEntries(
    [
      ["user-agent", request["user_agent"]],
      ["x-forwarded-for", request["ip"]],
      ["accept-language", request["language"]],
      ["referer", request["referrer"]],
    ].flatMap(([name = "", value]) => (value === undefined ? [] : [[name, value]])),
  );

type Rules = NonNullable<Body<"createLink">["rules"]>;

const APP_STORES: Rules = [
  { url: "https://apps.apple.com/app/id1", conditions: [{ type: "os", in: ["ios"] }] },
  { url: "https://play.google.com/store/apps/1", conditions: [{ type: "os", in: ["Android"] }] },
];

const idsOf = (rules: readonly { id: string }[] = []) => rules.map(({ id }) => id);

describe("rules", () => {
  test("are replaced by a PATCH as a whole, and keep the ids that it gives", async () => {
    const { id, alias, rules: before } = await create({ rules: APP_STORES });
    const [first = "", second = ""] = idsOf(before);
    const { rules } = await links.update(id, {
      rules: [
        {
          id: second,
          url: "https://example.com/b",
          conditions: [{ type: "device", in: ["mobile"] }],
        },
        { url: "https://example.com/c", conditions: [{ type: "query", name: "c" }] },
        { id: first, url: "https://example.com/a", conditions: [{ type: "os", in: ["iOS"] }] },
      ],
    });
    const ids = idsOf(rules);
    expect([ids[0], ids[2]]).toEqual([second, first]);
    expect(ids[1]).toStartWith("rule_");
    await expectSoon(alias, [302, "https://example.com/b"], { "user-agent": IPHONE });
    expect(await follow(`${alias}?c`, {})).toEqual([302, "https://example.com/c"]);
    expect((await links.update(id, { rules: [] })).rules).toBeUndefined();
    await expectSoon(alias, [302, DESTINATION], { "user-agent": IPHONE });
  });

  test("explain says which rule decides, and why the ones before did not", async () => {
    const { id, rules } = await create({
      rules: [
        {
          url: "https://example.com/de",
          conditions: [
            { type: "country", in: ["DE"] },
            { type: "language", in: ["de"] },
          ],
        },
        ...APP_STORES,
      ],
    });
    const ids = idsOf(rules);
    const request = { user_agent: IPHONE, country: "at", language: "de-AT,en" };
    expect(await links.explain(id, request)).toMatchObject({
      status: "active",
      requires_password: false,
      target: { kind: "rule", id: ids[1] ?? "", url: "https://apps.apple.com/app/id1" },
      rules: [
        {
          id: ids[0] ?? "",
          matched: false,
          conditions: [
            { type: "country", matched: false, actual: "AT" },
            { type: "language", matched: true, actual: "de-at" },
          ],
        },
        {
          id: ids[1] ?? "",
          matched: true,
          conditions: [{ type: "os", matched: true, actual: "iOS" }],
        },
      ],
    });
    const unknown = await links.explain(id);
    expect(unknown.target).toMatchObject({ kind: "default", id: null, url: DESTINATION });
    const [condition] = unknown.rules[0]?.conditions ?? [];
    expect(condition).toMatchObject({ type: "country", matched: false, actual: null });
    await links.update(id, { starts_at: inMs(3_600_000) });
    expect(await links.explain(id)).toMatchObject({ status: "scheduled", target: null });
    expect(await links.explain(id, { at: inMs(7_200_000) })).toMatchObject({ status: "active" });
  });

  longTest("explain and the redirector never differ", async () => {
    const rules: Rules = [
      {
        url: "https://example.com/0",
        conditions: [
          { type: "country", in: ["US"] },
          { type: "os", in: ["iOS", "Windows"] },
        ],
      },
      {
        url: "https://example.com/1",
        conditions: [
          { type: "language", in: ["de"] },
          { type: "ip", in: ["8.8.0.0/16"] },
        ],
      },
      {
        url: "https://example.com/2",
        conditions: [
          { type: "referrer", in: ["example.org"] },
          { type: "browser", in: ["Chrome"], not: true },
        ],
      },
      { url: "https://example.com/3", conditions: [{ type: "query", name: "a", in: ["ü"] }] },
      {
        url: "https://example.com/4",
        conditions: [
          { type: "country", in: ["ZZ", "US"], not: true },
          { type: "device", in: ["desktop"] },
        ],
      },
      {
        url: "https://example.com/5",
        conditions: [
          {
            type: "schedule",
            timezone: "Asia/Tokyo",
            days: [1, 2, 3, 4, 5, 6, 7],
            from: "00:00",
            to: "24:00",
          },
          { type: "referrer", in: ["direct"] },
          { type: "language", in: ["fr"] },
        ],
      },
    ];
    const { id, alias } = await create({ rules });
    const agents = [IPHONE, ANDROID, CHROME, `${CHROME} ${"x".repeat(400)} ${IPHONE}`, ""];
    const languages = ["de-AT,en;q=0.9", "en,de;q=0.9", "fr", ""];
    const referrers = ["https://www.example.org/a", `${stack.info().short_url}/x`, ""];
    const seen = new Set<string>();
    for (const [ip, country] of PLACES)
      for (const user_agent of agents)
        for (const language of languages)
          for (const referrer of referrers)
            for (const query of ["", "a=%C3%BC"]) {
              const request = { user_agent, ip, language, referrer };
              const [explained, [, location]] = await Promise.all([
                links.explain(id, { ...request, country, query }),
                follow(`${alias}?${query}`, headersOf(request)),
              ]);
              expect([request, location]).toEqual([request, explained.target?.url ?? ""]);
              seen.add(location ?? "");
            }
    expect(seen.size).toBe(rules.length + 1);
  });
});

const SPLIT_VISITORS = 200;

/** The address of a visitor. */
const addressOf = (n: number) => `198.51.${n >> 8}.${n & 255}`;

describe("a split", () => {
  test("gives a visitor the same arm on every redirector, and explain says which", async () => {
    const { id, alias } = await create({
      split: { arms: [{ url: "https://example.com/b", weight: 30 }] },
    });
    expect(JSON.stringify(await links.get(id))).not.toContain('"key"');
    const other = await startRedirector(stack);
    try {
      const seen = new Set<string | null>();
      for (let n = 0; n < SPLIT_VISITORS; n++) {
        const headers = { "x-forwarded-for": addressOf(n), "user-agent": ANDROID };
        const [one, two] = [await follow(alias, headers), await follow(alias, headers, other.url)];
        expect(two).toEqual(one);
        seen.add(one[1]);
        if (n % 10 > 0) continue;
        const { target } = await links.explain(id, { ip: addressOf(n), user_agent: ANDROID });
        expect(target?.url ?? null).toBe(one[1]);
      }
      expect(seen).toEqual(new Set(["https://example.com/b", DESTINATION]));
    } finally {
      await other.stop();
    }
  });

  test("and rules are counted by arm and rule; the counts sum to the link's, also when an arm is gone", async () => {
    const { id, alias, rules, split } = await create({
      rules: [{ url: "https://example.com/ios", conditions: [{ type: "os", in: ["iOS"] }] }],
      split: {
        arms: [
          { url: "https://example.com/b", weight: 30 },
          { label: "Page C", url: "https://example.com/c", weight: 30 },
        ],
      },
    });
    const followed: Record<string, number> = {};
    for (let n = 0; n < 60; n++) {
      const headers = {
        "x-forwarded-for": addressOf(n % 30),
        "user-agent": n < 20 ? IPHONE : ANDROID,
      };
      const [, location] = await follow(alias, headers);
      followed[location ?? ""] = (followed[location ?? ""] ?? 0) + 1;
    }
    const [ruleId = ""] = idsOf(rules);
    const [b = "", c = ""] = idsOf(split?.arms);
    const kept = { id: c, label: "Page C", url: "https://example.com/c", weight: 30 };
    await links.update(id, { split: { arms: [kept] } });
    await eventually(async () => {
      const { data } = await analytics.targets(id, { period: "24h" });
      const byId = Object.fromEntries(data.map((entry) => [entry.id ?? "own", entry]));
      expect(byId).toMatchObject({
        [ruleId]: { kind: "rule", url: "https://example.com/ios", clicks: 20, unique_clicks: 20 },
        [b]: { kind: "arm", url: null, clicks: followed["https://example.com/b"] ?? 0 },
        [c]: {
          kind: "arm",
          label: "Page C",
          url: "https://example.com/c",
          clicks: followed["https://example.com/c"] ?? 0,
        },
        own: { kind: "default", clicks: followed[DESTINATION] ?? 0 },
      });
      expect(data.reduce((sum, { clicks }) => sum + clicks, 0)).toBe(60);
      expect((await links.get(id)).clicks).toBe(60);
    }, 60_000);
    const { data } = await analytics.targets(id, { period: "24h", os: ["iOS"] });
    expect(data).toMatchObject([{ id: ruleId, clicks: 20 }]);
    const csv = await analytics.csv.targets(id);
    expect(csv).toStartWith("kind,id,label,url,clicks,unique_clicks,percentage");
    const unknown = await call(`${stack.info().api_url}/v1/analytics/${id}/targets?arm=b`, { key });
    expect(codeOf(unknown)).toEqual([400, "invalid_request"]);
  });
});
