/** Goal: the cost guard knows the bounds of every input that a route accepts. */
import { expect, test } from "bun:test";

import { formatRoute, listRoutes } from "../routes.ts";
import { readBound } from "./bounds.ts";
import { REACHED_BOUNDS } from "./coverage.ts";
import { listUnbounded } from "./unbounded.ts";

test("every bound that a generator names is a constant of its file", () => {
  expect(REACHED_BOUNDS.size).toBeGreaterThan(60);
  expect([...REACHED_BOUNDS].filter((name) => readBound(name) === undefined)).toEqual([]);
});

/** Texts and lists whose bound their schema cannot tell, by the name of the member. */
const BOUNDED_ELSEWHERE: Readonly<Record<string, string>> = {
  url: "shared/contracts/web-url.ts TEXT_LENGTH_MAX",
  expired_url: "shared/contracts/web-url.ts TEXT_LENGTH_MAX",
  root_url: "shared/contracts/web-url.ts TEXT_LENGTH_MAX",
  not_found_url: "shared/contracts/web-url.ts TEXT_LENGTH_MAX",
  alias: "shared/contracts/alias.ts ALIAS_LENGTH_MAX",
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
  expect(unbounded.length).toBeGreaterThan(0);
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
