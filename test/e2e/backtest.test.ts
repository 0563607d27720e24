/**
 * Goal: a backtest counts the clicks as the redirectors would have led them, and says what it
 * cannot know.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import * as z from "zod";

import { decodeId } from "../../shared/ids.ts";
import { createAccount } from "../harness/admin.ts";
import { runQuery } from "../harness/analytics-data.ts";
import { callOnce, errorSchema, linkSchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { insertClicksOf } from "../harness/generated-clicks.ts";
import { createSettingsAccount, type Json } from "../harness/settings-account.ts";
import { useStack } from "../harness/shared-stack.ts";
import type { SharedStack } from "../harness/stack.ts";

const IPHONE =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1";
const WINDOWS =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/136.0.0.0 Safari/537.36";

const backtestSchema = z.object({
  link_id: z.string(),
  clicks: z.int(),
  rules: z.array(
    z.object({
      url: z.string(),
      clicks: z.int(),
      undeterminable: z.int(),
      percentage: z.number(),
    }),
  ),
  otherwise: z.object({ clicks: z.int(), percentage: z.number() }),
});

let stack: SharedStack;
let account: Awaited<ReturnType<typeof createSettingsAccount>>;
let linkId: string;

/** Latest time until rules have reached the redirector. */
const SOON_MS = 5_000;

/** Clicks of the tested link: user agent, language, referrer and address. */
const CLICKS = [
  [IPHONE, "de-AT,de;q=0.9", "https://www.example.org/a", "8.8.8.8"],
  [IPHONE, "de", "", "81.2.69.142"],
  [WINDOWS, "en-US,en;q=0.9", "https://www.example.org/b", "8.8.8.8"],
  [WINDOWS, "", "", "127.0.0.2"],
  [WINDOWS, "fr", "", "81.2.69.142"],
] as const;

beforeAll(async () => {
  stack = await useStack();
  account = await createSettingsAccount(stack);
  const { id, alias } = await account.create();
  linkId = id;
  for (const [userAgent, language, referrer, address] of CLICKS)
    await callOnce(`${stack.info().short_url}/${alias}`, {
      headers: {
        "user-agent": userAgent,
        "accept-language": language,
        referer: referrer,
        "x-forwarded-for": address,
      },
    });
  // A bot's click is not a person's.
  await callOnce(`${stack.info().short_url}/${alias}`, {
    headers: { "user-agent": "Mozilla/5.0 (compatible; Googlebot/2.1)" },
  });
  await eventually(async () => expect((await account.read(id))["clicks"]).toBe(5), 60_000);
}, 120_000);
afterAll(async () => await stack[Symbol.asyncDispose]());

const send = (body: Json) => account.send(`/v1/links/${linkId}/backtest`, "POST", body);

/** More requests at their bounds than a free account may make at once. */
const ONCE_MAX = 7;

/** More clicks than a backtest reads, of which a tenth are not people's. */
const MANY_CLICKS = 60_000;

/** The rules of conditions, each a rule of its own. */
const rulesOf = (...conditions: Json[]) =>
  conditions.map((condition, i) => ({ url: `https://example.com/${i}`, conditions: [condition] }));

/** Runs rules; returns clicks and undeterminable ones of each, and the rest. */
async function backtest(rules: unknown, period: Json = {}) {
  const response = await send({ rules, ...period });
  expect([response.status, response.body]).toEqual([200, expect.anything()]);
  const result = backtestSchema.parse(response.body);
  const counted = result.rules.reduce((sum, one) => sum + one.clicks + one.undeterminable, 0);
  expect(counted + result.otherwise.clicks).toBe(result.clicks);
  return {
    rules: result.rules.map((one) => [one.clicks, one.undeterminable]),
    rest: result.otherwise.clicks,
    clicks: result.clicks,
  };
}

/** The clicks that a rule of one condition decides, and those that it may decide. */
const counts = async (condition: Json) => (await backtest(rulesOf(condition))).rules[0];

describe("a backtest", () => {
  test("counts the clicks that each rule would have decided, the first that matches", async () => {
    const response = await send({
      rules: [
        {
          url: "https://example.com/ios-us",
          conditions: [
            { type: "os", in: ["ios"] },
            { type: "country", in: ["US"] },
          ],
        },
        { url: "https://example.com/ios", conditions: [{ type: "os", in: ["iOS"] }] },
        { url: "https://example.com/gb", conditions: [{ type: "country", in: ["GB"] }] },
      ],
    });
    expect([response.status, response.body]).toEqual([
      200,
      {
        link_id: linkId,
        clicks: 5,
        rules: [
          { url: "https://example.com/ios-us", clicks: 1, undeterminable: 0, percentage: 20 },
          { url: "https://example.com/ios", clicks: 1, undeterminable: 0, percentage: 20 },
          { url: "https://example.com/gb", clicks: 1, undeterminable: 0, percentage: 20 },
        ],
        otherwise: { clicks: 2, percentage: 40 },
      },
    ]);
  });

  test("knows every fact that a click has", async () => {
    // The GeoIP data of this stack has no continents; what is unknown matches neither.
    expect(await counts({ type: "continent", in: ["EU"] })).toEqual([0, 0]);
    expect(await counts({ type: "continent", in: ["EU"], not: true })).toEqual([0, 0]);
    expect(await counts({ type: "device", in: ["mobile"] })).toEqual([2, 0]);
    expect(await counts({ type: "browser", in: ["chrome"] })).toEqual([3, 0]);
    expect(await counts({ type: "referrer", in: ["example.org"] })).toEqual([2, 0]);
    expect(await counts({ type: "referrer", in: ["direct"] })).toEqual([3, 0]);
    expect(await counts({ type: "language", in: ["de"] })).toEqual([2, 0]);
    expect(await counts({ type: "language", in: ["de"], not: true })).toEqual([3, 0]);
    const year = new Date().getFullYear();
    expect(await counts({ type: "time", until: `${year}-01-01T00:00:00Z` })).toEqual([0, 0]);
    expect(await counts({ type: "time", from: `${year}-01-01T00:00:00Z` })).toEqual([5, 0]);
    const days = [1, 2, 3, 4, 5, 6, 7];
    const always = {
      type: "schedule",
      time_zone: "Asia/Kathmandu",
      days,
      from: "00:00",
      to: "24:00",
    };
    expect(await counts(always)).toEqual([5, 0]);
    expect(await counts({ ...always, not: true })).toEqual([0, 0]);
  });

  test("says of how many clicks it is not stored what a rule looks at", async () => {
    expect(await backtest(rulesOf({ type: "query", name: "a" }))).toMatchObject({
      rules: [[0, 5]],
    });
    expect(await backtest(rulesOf({ type: "ip", in: ["8.8.0.0/16"], not: true }))).toMatchObject({
      rules: [[0, 5]],
      rest: 0,
    });
    // The region of a language is not stored: of `de` it may have been Austria's.
    expect(await backtest(rulesOf({ type: "language", in: ["de-AT"] }))).toMatchObject({
      rules: [[0, 2]],
      rest: 3,
    });
    expect(await backtest(rulesOf({ type: "language", in: ["de-AT", "de"] }))).toMatchObject({
      rules: [[2, 0]],
    });
    // A condition that certainly does not match makes the others irrelevant.
    const both = [
      {
        url: "https://example.com/",
        conditions: [
          { type: "query", name: "a" },
          { type: "os", in: ["iOS"] },
        ],
      },
      ...rulesOf({ type: "os", in: ["Windows", "iOS"] }),
    ];
    expect(await backtest(both)).toMatchObject({
      rules: [
        [0, 2],
        [3, 0],
      ],
      rest: 0,
    });
  });

  test("is about the clicks of its period", async () => {
    const rules = rulesOf({ type: "os", in: ["iOS"] });
    for (const period of ["24h", "7d", "30d", "90d", "all"])
      expect(await backtest(rules, { period })).toMatchObject({ clicks: 5, rules: [[2, 0]] });
    const before = { start_date: "2020-01-01", end_date: "2020-01-02" };
    expect(await backtest(rules, before)).toEqual({ rules: [[0, 0]], rest: 0, clicks: 0 });
  });

  test("changes nothing", async () => {
    const before = await account.read(linkId);
    await backtest(rulesOf({ type: "os", in: ["iOS"] }));
    expect(await account.read(linkId)).toEqual(before);
  });

  test("agrees with what the redirector does when the rules are set", async () => {
    const { id, alias } = await account.create();
    const rules = [
      ...rulesOf({ type: "language", in: ["de"] }, { type: "referrer", in: ["example.org"] }),
      { url: "https://example.com/gb", conditions: [{ type: "country", in: ["GB"], not: true }] },
    ];
    await account.change(id, { rules });
    const follow = async ([userAgent, language, referrer, address]: (typeof CLICKS)[number]) => {
      const { headers } = await callOnce(`${stack.info().short_url}/${alias}`, {
        headers: {
          "user-agent": userAgent,
          "accept-language": language,
          referer: referrer,
          "x-forwarded-for": address,
        },
      });
      return rules.findIndex(({ url }) => url === headers.get("location"));
    };
    // The rules reach the redirector within milliseconds.
    await eventually(async () => expect(await follow(CLICKS[0])).not.toBe(-1), SOON_MS);
    const followed = rules.map(() => 0);
    for (const click of CLICKS) {
      const at = await follow(click);
      if (at >= 0) followed[at] = (followed[at] ?? 0) + 1;
    }
    expect((await backtest(rules)).rules.map(([clicks]) => clicks)).toEqual(followed);
    expect(followed.every((clicks) => clicks > 0)).toBe(true);
  });

  test("is refused to an account that has tried too many rules, until time has passed", async () => {
    const { id, key } = await createAccount(stack, "free");
    const created = await callOnce(`${stack.info().api_url}/v1/links`, {
      key,
      body: { url: "https://example.com/" },
    });
    const link = linkSchema.parse(created.body).id;
    const account = decodeId("acct", id) ?? "";
    await runQuery({ stack }, insertClicksOf(account, decodeId("link", link) ?? "", MANY_CLICKS));
    const condition = { type: "country", in: ["DE"], not: true };
    const rules = Array.from({ length: 20 }, () => ({
      url: "https://example.com/",
      conditions: Array.from({ length: 10 }, () => condition),
    }));
    const path = `${stack.info().api_url}/v1/links/${link}/backtest`;
    const statuses: number[] = [];
    for (let i = 0; i < ONCE_MAX; i++) {
      const { status, headers, body } = await callOnce(path, { key, body: { rules } });
      statuses.push(status);
      if (status === 200) continue;
      expect([status, errorSchema.parse(body).error.code]).toEqual([429, "rate_limited"]);
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    }
    expect([statuses[0], statuses.at(-1)]).toEqual([200, 429]);
    // Anything else is as before.
    expect((await callOnce(`${stack.info().api_url}/v1/links`, { key })).status).toBe(200);
  });

  test.each<[string, Json, string, string]>([
    ["no rules", { rules: [] }, "invalid_request", "rules"],
    [
      "a value that is none",
      { rules: rulesOf({ type: "country", in: ["XXX"] }) },
      "invalid_request",
      "rules.0.conditions.0.in.0",
    ],
    [
      "a URL that is none",
      { rules: [{ url: "nonsense", conditions: [{ type: "os", in: ["iOS"] }] }] },
      "invalid_url",
      "rules.0.url",
    ],
    [
      "a period that is none",
      { rules: rulesOf({ type: "os", in: ["iOS"] }), period: "1h" },
      "invalid_request",
      "period",
    ],
    [
      "a zone that is none",
      { rules: rulesOf({ type: "os", in: ["iOS"] }), timezone: "Mars" },
      "invalid_request",
      "timezone",
    ],
    [
      "an unknown member",
      { rules: rulesOf({ type: "os", in: ["iOS"] }), split: {} },
      "invalid_request",
      "split",
    ],
  ])("is refused with %s", async (_, body, code, param) => {
    const response = await send(body);
    const { error } = errorSchema.parse(response.body);
    expect([response.status, error.code]).toEqual([400, code]);
    expect(error.message).toContain(param);
  });

  test("is one of the account's own links", async () => {
    const other = await createSettingsAccount(stack);
    const rules = rulesOf({ type: "os", in: ["iOS"] });
    const response = await other.send(`/v1/links/${linkId}/backtest`, "POST", { rules });
    expect(response.status).toBe(404);
  });
});
