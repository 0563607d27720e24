/** Goal: every bound on input has a generator in the cost guard, or a reason why not. */
import { expect, test } from "bun:test";

import { formatRoute, listRoutes } from "../routes.ts";
import { nameBound, readBounds } from "./bounds.ts";
import { OTHER_SECTIONS, REACHED_BOUNDS, UNREACHED_BOUNDS } from "./coverage.ts";
import { listUnbounded } from "./unbounded.ts";

const listed = (await readBounds()).filter(({ section }) => !(section in OTHER_SECTIONS));
const names = new Set(listed.map(nameBound));
const unreached = Object.values(UNREACHED_BOUNDS).flat();

test("every bound of the page is reached by a generator, or has a reason why not", () => {
  expect(names.size).toBeGreaterThan(200);
  expect(
    [...names].filter((name) => !REACHED_BOUNDS.has(name) && !unreached.includes(name)),
  ).toEqual([]);
});

test("every generator and every reason is of a bound that the page lists", () => {
  expect([...REACHED_BOUNDS, ...unreached].filter((name) => !names.has(name))).toEqual([]);
});

test("a bound has one reason, and none when a generator reaches it", () => {
  expect(unreached.filter((name) => REACHED_BOUNDS.has(name))).toEqual([]);
  expect(unreached.filter((name, i) => unreached.indexOf(name) !== i)).toEqual([]);
});

test("the sections that are left out are on the page", async () => {
  const sections = new Set((await readBounds()).map(({ section }) => section));
  expect(Object.keys(OTHER_SECTIONS).filter((name) => !sections.has(name))).toEqual([]);
});

/** Texts and lists whose bound their schema cannot tell, by the name of the member. */
const BOUNDED_ELSEWHERE: Readonly<Record<string, string>> = {
  url: "shared/contracts/web-url.ts TEXT_LENGTH_MAX",
  expired_url: "shared/contracts/web-url.ts TEXT_LENGTH_MAX",
  root_url: "shared/contracts/web-url.ts TEXT_LENGTH_MAX",
  not_found_url: "shared/contracts/web-url.ts TEXT_LENGTH_MAX",
  alias: "shared/contracts/alias.ts ALIAS_PATTERN",
  domain: "api/domains/host.ts HOST_LENGTH_MAX",
  "assetlinks[]": "shared/contracts/domain-settings.ts APP_FILE_BYTES_MAX",
  id: "an identifier has one length",
  link_id: "an identifier has one length",
  account_id: "an identifier has one length",
  "ids[]": "an identifier has one length",
  "link_ids[]": "an identifier has one length",
};

test("every text and list that a route accepts has a bound in its schema, or elsewhere", () => {
  const unbounded = listRoutes().flatMap((route) =>
    listUnbounded(route).map((path) => `${formatRoute(route)}: ${path}`),
  );
  expect(unbounded.length).toBeGreaterThan(10);
  expect(
    unbounded.filter((path) => BOUNDED_ELSEWHERE[path.split(".").at(-1) ?? ""] === undefined),
  ).toEqual([]);
});

test("a text or list without a bound is found, also in a choice, a list and a definition", () => {
  const route = { surface: "api", method: "POST", path: "/", query: [] } as const;
  const free = { type: "string" };
  const bounded = { type: "string", maxLength: 9 };
  const body = {
    type: "object",
    properties: {
      bounded,
      either: { anyOf: [bounded, free] },
      list: { type: "array", items: { $ref: "#/$defs/One" } },
    },
    $defs: { One: { type: "object", properties: { free, bounded } } },
  };
  expect(listUnbounded({ ...route, body })).toEqual([
    "body.either",
    "body.list[]",
    "body.list[].free",
  ]);
});
