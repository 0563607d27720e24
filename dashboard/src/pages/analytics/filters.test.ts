import { expect, test } from "bun:test";

import fc from "fast-check";

import {
  addFilters,
  type Filter,
  FILTER_NAMES,
  only,
  readFilters,
  toClickFilters,
  toFilterQuery,
  toggleFilters,
} from "./analytics-path.ts";

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
