import { describe, expect, spyOn, test } from "bun:test";

import fc from "fast-check";

import {
  addFilters,
  type CalendarPeriod,
  datesOf,
  type Filter,
  FILTER_NAMES,
  only,
  readFilters,
  readRange,
  toClickFilters,
  toFilterQuery,
  toggleFilters,
  toRangeQuery,
} from "./analytics-path.ts";

const at = (text: string): number => Date.parse(text);

test.each<[CalendarPeriod, string, string, string, string]>([
  ["today", "UTC", "2026-03-01T00:05Z", "2026-03-01", "2026-03-01"],
  ["today", "Pacific/Kiritimati", "2025-12-31T10:00Z", "2026-01-01", "2026-01-01"],
  ["today", "America/New_York", "2026-03-01T04:59Z", "2026-02-28", "2026-02-28"],
  ["yesterday", "UTC", "2024-03-01T12:00Z", "2024-02-29", "2024-02-29"],
  // Clocks are moved on that day.
  ["yesterday", "Europe/Berlin", "2026-03-29T22:30Z", "2026-03-29", "2026-03-29"],
  ["this-month", "UTC", "2026-02-10T12:00Z", "2026-02-01", "2026-02-28"],
  ["this-month", "Asia/Kathmandu", "2026-11-30T18:15Z", "2026-12-01", "2026-12-31"],
  ["last-month", "UTC", "2026-01-31T12:00Z", "2025-12-01", "2025-12-31"],
  ["last-month", "UTC", "2024-03-31T12:00Z", "2024-02-01", "2024-02-29"],
  ["this-year", "America/New_York", "2026-01-01T03:00Z", "2025-01-01", "2025-12-31"],
])("%s in %s at %s is %s to %s", (period, timezone, now, start, end) => {
  expect(datesOf(period, timezone, at(now))).toEqual({ start, end });
});

const NOW = Date.parse("2026-11-20T23:30:00Z");

const read = (text: string) => readRange(new URLSearchParams(text), NOW);

describe("the range in a URL", () => {
  test.each([
    ["period=7d&timezone=UTC", { period: "7d", timezone: "UTC" }],
    ["period=nonsense&timezone=UTC", { period: "30d", timezone: "UTC" }],
    [
      "start=2026-01-01&end=2026-01-31&timezone=Asia/Tokyo",
      { start_date: "2026-01-01", end_date: "2026-01-31", timezone: "Asia/Tokyo" },
    ],
    [
      "period=today&timezone=Asia/Tokyo",
      { start_date: "2026-11-21", end_date: "2026-11-21", timezone: "Asia/Tokyo" },
    ],
    // The API says what is wrong with the zone.
    [
      "period=today&timezone=Mars/Base",
      { start_date: "2026-11-20", end_date: "2026-11-20", timezone: "Mars/Base" },
    ],
    ["start=2026-02-01&end=2026-01-31&timezone=UTC", { period: "30d", timezone: "UTC" }],
  ])("%p is used when it is valid, otherwise 30 days", (text, query) => {
    expect(toRangeQuery(read(text))).toEqual(query as ReturnType<typeof toRangeQuery>);
  });

  test("has no zone that the API does not know, where the browser does not know its own", () => {
    const options = Intl.DateTimeFormat().resolvedOptions();
    using _ = spyOn(Intl.DateTimeFormat.prototype, "resolvedOptions").mockReturnValue({
      ...options,
      timeZone: "Etc/Unknown",
    });
    expect(toRangeQuery(read("period=7d"))).toEqual({ period: "7d", timezone: "UTC" });
  });
});

const filter: fc.Arbitrary<Filter> = fc.record({
  name: fc.constantFrom(...FILTER_NAMES),
  value: fc.oneof(fc.string(), fc.constantFrom("", "-x", "\\x", "-\\", "--", "a,b", "a&b=c")),
  negated: fc.boolean(),
});

const toParams = (filters: readonly Filter[]): URLSearchParams =>
  new URLSearchParams(
    Object.entries(toFilterQuery(filters)).flatMap(([name, values]) =>
      values.map((value) => [name, value]),
    ),
  );

const byName = (list: readonly Filter[]): Filter[] =>
  FILTER_NAMES.flatMap((name) => list.filter((each) => each.name === name));

test("filters survive the URL, whatever their values are", () => {
  fc.assert(
    fc.property(fc.array(filter), (filters) => {
      expect(readFilters(toParams(filters))).toEqual(byName(filters));
    }),
  );
});

test("a second click on a value undoes the first, and leaves other filters", () => {
  const others = [only("device", "mobile")];
  const city = [only("country", "DE"), only("city", "Berlin")];
  const once = toggleFilters(others, city);
  expect(once).toEqual([...others, ...city]);
  expect(toggleFilters(once, city)).toEqual(others);
});

test("filters are added once, also when their opposite is there", () => {
  const germany = only("country", "DE");
  const others = { ...germany, negated: true };
  expect(addFilters([germany], [germany])).toEqual([germany]);
  expect(addFilters([germany], [others])).toEqual([germany, others]);
  expect(addFilters([], [germany, only("country", "AT")])).toHaveLength(2);
});

test.each<[string, readonly Filter[] | undefined]>([
  [
    "tag=-odd&utm_source=-a&utm_source=%5C-b&archived=any",
    [
      { name: "utm_source", value: "a", negated: true },
      only("utm_source", "-b"),
      only("tag", "-odd"),
    ],
  ],
  ["domain=go.example", [only("domain", "go.example")]],
  ["", undefined],
  ["tag=a&tag=b", undefined],
  ["search=a&tag=b", undefined],
  ["utm_source=a&created_by=user_1", undefined],
  ["utm_source=a&archived=true", undefined],
])("the filter of links %p selects the clicks %j", (query, filters) => {
  expect(toClickFilters(query)).toEqual(filters === undefined ? undefined : [...filters]);
});
