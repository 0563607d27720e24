/**
 * Goal: rules decide as docs/links-that-decide.md says, compared with a slow reference written from
 * that page.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test";

import fc from "fast-check";
import { DateTime } from "luxon";

import { casesOf } from "../../test/harness/property-runs.ts";
import type { Condition, Rule } from "../contracts/redirect-settings.ts";
import { CachedFacts, type RequestFacts, toAgentNames } from "./facts.ts";
import { preferredLanguage } from "./language.ts";
import { SplitArms, Targets } from "./targets.ts";

// 20,000 random rule sets, on a machine that may be busy.
setDefaultTimeout(240_000);

/** A request as the reference knows it. */
type Request = {
  now: number;
  address: string;
  location: { country: string; continent: string } | undefined;
  agent: { browser: string; os: string; device: "mobile" | "desktop" | "tablet" | "other" };
  acceptLanguage: string;
  source: string;
  query: string;
};

let current: Request;

// For all requests, as the redirector has them: none may decide by what another one said.
const facts = new CachedFacts({
  now: () => current.now,
  address: () => current.address,
  location: () => current.location,
  userAgent: () => current.agent.browser,
  agent: () => toAgentNames(current.agent),
  language: () => preferredLanguage(current.acceptLanguage),
  source: () => current.source,
  query: () => current.query,
});

/** The facts of a request, until those of the next one are asked for. */
function toFacts(request: Request): RequestFacts {
  current = request;
  facts.forget();
  return facts;
}

const groups = (text: string) => (text === "" ? [] : text.split(":"));

/** The bits of an address as text of 0 and 1, and its family. */
function bitsOf(address: string): string {
  if (address.includes("."))
    return `4${address
      .split(".")
      .map((part) => Number(part).toString(2).padStart(8, "0"))
      .join("")}`;
  const [head = "", tail] = address.split("::");
  const [left, right] = [groups(head), groups(tail ?? "")];
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => "0");
  const all = tail === undefined ? left : [...left, ...zeros, ...right];
  return `6${all.map((group) => Number.parseInt(group, 16).toString(2).padStart(16, "0")).join("")}`;
}

function liesIn(address: string, block: string): boolean {
  const [network = "", length] = block.split("/");
  const bits = bitsOf(network);
  return bitsOf(address).startsWith(
    length === undefined ? bits : bits.slice(0, 1 + Number(length)),
  );
}

/** The languages of the highest weight; the first counts. */
function languageOf(header: string): string {
  const entries = header
    .split(",")
    .map((text) => /^\s*(?<tag>[^;\s]*)\s*(?:;\s*q=(?<q>[\d.]+))?\s*$/.exec(text)?.groups)
    .flatMap((groups) => (groups === undefined ? [] : [groups]))
    .map(({ tag = "", q }) => ({ tag, q: q === undefined ? 1 : Number(q) }));
  const highest = Math.max(0, ...entries.map(({ q }) => q));
  return highest === 0 ? "" : (entries.find(({ q }) => q === highest)?.tag ?? "");
}

const same = (value: string | undefined, values: readonly string[]) =>
  value === undefined || value === ""
    ? undefined
    : values.some((other) => other.toLowerCase() === value.toLowerCase());

const minutes = (text: string) => Number(text.split(":")[0]) * 60 + Number(text.split(":")[1]);

/** Whether a condition holds; undefined when the request does not say. */
function holds(condition: Condition, request: Request): boolean | undefined {
  switch (condition.type) {
    case "country":
    case "continent":
      return same(request.location?.[condition.type], condition.in);
    case "device":
    case "os":
    case "browser":
      return same(request.agent[condition.type], condition.in);
    case "referrer":
      return same(request.source, condition.in);
    case "language": {
      const language = languageOf(request.acceptLanguage).toLowerCase();
      return condition.in.some((tag) => `${language}-`.startsWith(`${tag.toLowerCase()}-`));
    }
    case "query": {
      const values = new URLSearchParams(request.query).getAll(condition.name);
      const { in: allowed } = condition;
      return allowed === undefined
        ? values.length > 0
        : values.some((value) => allowed.includes(value));
    }
    case "ip":
      if (request.address === "") return undefined;
      return condition.in.some((block) => liesIn(request.address, block));
    case "time":
      if (condition.from !== undefined && Date.parse(condition.from) > request.now) return false;
      return condition.until === undefined || Date.parse(condition.until) > request.now;
    default: {
      // A schedule: any run that began on one of the days, today or yesterday.
      const local = DateTime.fromMillis(request.now, { zone: condition.timezone });
      const [from, to] = [minutes(condition.from), minutes(condition.to)];
      const length = to > from ? to - from : to + 1_440 - from;
      return [0, 1].some((ago) => {
        const weekday = ((local.weekday - 1 - ago + 7) % 7) + 1;
        const sinceMidnight = local.hour * 60 + local.minute + ago * 1_440;
        return (
          condition.days.includes(weekday) && from <= sinceMidnight && sinceMidnight < from + length
        );
      });
    }
  }
}

/** The id of the rule that decides; undefined for none. */
const decideSlowly = (rules: readonly Rule[], request: Request): string | undefined =>
  rules.find(({ conditions }) =>
    conditions.every((condition) => {
      const held = holds(condition, request);
      return held !== undefined && held !== (condition.not === true);
    }),
  )?.id;

const pick = <Value>(...values: readonly Value[]) => fc.constantFrom(...values);
const some = <Value>(...values: readonly Value[]) =>
  fc.uniqueArray(pick(...values), { minLength: 1, maxLength: 3 });

const COUNTRIES = ["DE", "AT", "US", "JP", "ZZ"];
const TAGS = ["de", "de-AT", "en", "en-us", "pt-BR", "zh-Hant"];
const ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"];
const INSTANTS = [
  "2026-03-29T00:59:59.999Z",
  "2026-03-29T01:00:00.000Z",
  "2026-10-25T01:00:00.000Z",
  "2026-12-31T23:30:00.000Z",
  "2027-01-01T00:00:00.000Z",
];
const TIMES = ["00:00", "00:30", "02:30", "09:00", "17:30", "22:00", "23:59"];

const withNot = <Value extends object>(arbitrary: fc.Arbitrary<Value>) =>
  fc.tuple(arbitrary, fc.boolean()).map(([value, not]) => (not ? { ...value, not } : value));

const condition: fc.Arbitrary<Condition> = withNot(
  fc.oneof(
    fc.record({ type: fc.constant("country" as const), in: some(...COUNTRIES) }),
    fc.record({ type: fc.constant("continent" as const), in: some("EU", "NA", "AS") }),
    fc.record({ type: fc.constant("device" as const), in: some("mobile", "desktop", "tablet") }),
    fc.record({ type: fc.constant("os" as const), in: some("iOS", "ios", "Android", "macOS") }),
    fc.record({ type: fc.constant("browser" as const), in: some("Safari", "Chrome", "Unknown") }),
    fc.record({ type: fc.constant("language" as const), in: some(...TAGS, "e") }),
    fc.record({ type: fc.constant("referrer" as const), in: some("direct", "example.com") }),
    fc.record({
      type: fc.constant("ip" as const),
      in: some("203.0.113.7", "203.0.113.0/24", "128.0.0.0/1", "2001:db8::/32", "2001:db8::1"),
    }),
    fc.record(
      { type: fc.constant("query" as const), name: pick("a", "b"), in: some("1", "", "ü") },
      { requiredKeys: ["type", "name"] },
    ),
    fc.oneof(
      fc.record({ type: fc.constant("time" as const), from: pick(...INSTANTS) }),
      fc.record({
        type: fc.constant("time" as const),
        from: pick(...INSTANTS),
        until: pick(...INSTANTS),
      }),
    ),
    fc
      .record({
        type: fc.constant("schedule" as const),
        timezone: pick(...ZONES),
        days: some(1, 2, 3, 4, 5, 6, 7),
        from: pick(...TIMES),
        to: pick(...TIMES, "24:00"),
      })
      .filter(({ from, to }) => from !== to),
  ),
);

const ruleSet: fc.Arbitrary<Rule[]> = fc
  .array(fc.array(condition, { minLength: 1, maxLength: 3 }), { maxLength: 6 })
  .map((sets) =>
    sets.map((conditions, i) => ({ id: `r${i}`, url: `https://example.com/${i}`, conditions })),
  );

const language = fc
  .array(fc.tuple(pick(...TAGS, "*"), pick("", ";q=1", ";q=0.9", ";q=0.5", ";q=0", "; q=0.9 ")), {
    maxLength: 4,
  })
  .map((entries) => entries.map(([tag, weight]) => `${tag}${weight}`).join(pickSeparator(entries)));

/** Spaces around commas are optional. */
const pickSeparator = (entries: readonly unknown[]) => (entries.length % 2 === 0 ? "," : " , ");

const request: fc.Arbitrary<Request> = fc.record({
  now: fc.oneof(
    pick(...INSTANTS).map((instant) => Date.parse(instant)),
    fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2027, 0, 1) }),
  ),
  address: pick("", "203.0.113.7", "203.0.113.8", "198.51.100.1", "2001:db8::1", "2001:db9::1"),
  location: fc.option(fc.record({ country: pick(...COUNTRIES), continent: pick("EU", "NA", "") }), {
    nil: undefined,
  }),
  agent: fc.record({
    browser: pick("Safari", "Chrome", "Unknown"),
    os: pick("iOS", "Android", "macOS", "Unknown"),
    device: pick("mobile", "desktop", "tablet", "other"),
  }),
  acceptLanguage: language.map((header) => header.replaceAll("*", "fr")),
  source: pick("direct", "example.com", "example.org"),
  query: fc.oneof(
    pick("", "a=1", "a", "b=%C3%BC&a=2", "b=2&b=1", "c=1"),
    fc
      .array(pick("a=1", "a", "b=%C3%BC", "%61=2", "b=1=", "c", "", "="), { maxLength: 256 })
      .map((parameters) => parameters.join("&")),
  ),
});

describe("rules", () => {
  test("decide as the reference, for thousands of random sets and requests", () => {
    let matched = 0;
    fc.assert(
      fc.property(ruleSet, request, (rules, of) => {
        const targets = new Targets({ rules });
        const facts = toFacts(of);
        const expected = decideSlowly(rules, of);
        expect(targets.choose(facts)?.id).toBe(expected);
        const explained = [...targets.explain(facts)];
        expect(explained.filter((rule) => rule.matched).map(({ id }) => id)).toEqual(
          expected === undefined ? [] : [expected],
        );
        for (const { matched: did, conditions } of explained)
          expect(conditions.every((one) => one.matched)).toBe(did);
        if (expected !== undefined) matched++;
      }),
      { numRuns: casesOf(20_000) },
    );
    expect(matched).toBeGreaterThan(casesOf(4_000));
  });
});

test.each([
  ["de,en-US;q=0.9,en;q=0.8", "de"],
  ["en;q=0.8, de-AT", "de-at"],
  ["en;q=0.8,de;q=0.8", "en"],
  ["de;q=0,en;q=0.1", "en"],
  ["de;q=2,en;q=x,fr;q=0.2", "fr"],
  ["*", ""],
  ["", ""],
])("the language that %p prefers is %p", (header, expected) => {
  expect(preferredLanguage(header)).toBe(expected);
});

test.each([
  // Browsers name how Norwegian is written.
  ["no", "nb-NO,nb;q=0.9,no;q=0.8", true],
  ["no", "nn-NO", true],
  ["nb", "no", true],
  ["nn", "nb-NO", false],
  // Java's codes, and the underscore of its locales.
  ["he", "iw-IL", true],
  ["iw", "he-IL,he;q=0.9", true],
  ["id", "in_ID", true],
  ["en-US", "en_US", true],
  // Browsers name countries, apps of iOS also the script.
  ["zh-Hant", "zh-TW,zh;q=0.9", true],
  ["zh-Hant", "zh-CN", false],
  ["zh-TW", "zh-Hant-TW;q=1", true],
  ["zh-TW", "zh-Hans-CN", false],
  ["zh", "zh-Hant-HK", true],
])("a rule for %p holds for %p: %p", (tag, acceptLanguage, matches) => {
  const conditions = [{ type: "language" as const, in: [tag] }];
  const targets = new Targets({ rules: [{ id: "r", url: "https://example.com/", conditions }] });
  const agent = { browser: "", os: "", device: "other" as const };
  const request = { now: 0, address: "", location: undefined, agent, source: "", query: "" };
  expect(targets.choose(toFacts({ ...request, acceptLanguage })) !== undefined).toBe(matches);
});

const ARMS = [
  { id: "a", url: "https://example.com/a", weight: 30 },
  { id: "b", url: "https://example.com/b", weight: 1 },
  { id: "c", url: "https://example.com/c", weight: 19 },
];

const VISITORS = 100_000;

function chooserOf(key: number, arms = ARMS) {
  const split = new SplitArms({ key, arms });
  return (address: string, userAgent: string) => split.armOf(address, userAgent)?.id;
}

const addressOf = (n: number) => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`;

const allArms = (key: number, arms = ARMS) => {
  const choose = chooserOf(key, arms);
  return Array.from({ length: VISITORS }, (_, n) => choose(addressOf(n), "Mozilla/5.0") ?? "own");
};

const shareOf = (arms: readonly string[], id: string) =>
  (100 * arms.filter((arm) => arm === id).length) / arms.length;

describe("a split", () => {
  test("gives each arm its share of 100,000 visitors, within one percentage point", () => {
    for (const key of [0, 1, 0xffff_ffff]) {
      const arms = allArms(key);
      for (const { id, weight } of [...ARMS, { id: "own", weight: 50 }])
        expect(Math.abs(shareOf(arms, id) - weight)).toBeLessThan(1);
    }
  });

  test.each([
    ["2001:db8:1:2:", true],
    ["::ffff:192.0.2.", false],
  ])("takes the network of an IPv6 address, and not that of a mapped one: %s", (start, isOne) => {
    const choose = chooserOf(5);
    const arms = Array.from({ length: 200 }, (_, n) => {
      const host = isOne ? `${n.toString(16)}:cafe:0:1` : String(n);
      return choose(start + host, "Mozilla/5.0") ?? "own";
    });
    expect(new Set(arms).size === 1).toBe(isOne);
    expect(choose("::ffff:192.0.2.7", "Mozilla/5.0")).toBe(choose("192.0.2.7", "Mozilla/5.0"));
  });

  test("of another link, or of another browser at the same address, is independent", () => {
    const [one, other] = [allArms(1), allArms(2)];
    const both = one.filter((arm, n) => arm === "a" && other[n] === "a").length;
    expect(Math.abs((100 * both) / VISITORS - 9)).toBeLessThan(1);
    const choose = chooserOf(1);
    const browsers = Array.from(
      { length: VISITORS },
      (_, n) => choose("10.0.0.1", `UA ${n}`) ?? "own",
    );
    expect(Math.abs(shareOf(browsers, "a") - 30)).toBeLessThan(1);
  });

  test("keeps visitors in their arms when the last arm grows", () => {
    const before = allArms(3);
    const after = allArms(
      3,
      ARMS.map((arm) => (arm.id === "c" ? { ...arm, weight: 29 } : arm)),
    );
    const moved = before.filter((arm, n) => arm !== after[n]);
    expect(new Set(moved)).toEqual(new Set(["own"]));
  });
});
