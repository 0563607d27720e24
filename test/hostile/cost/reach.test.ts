/**
 * Goal: the cost guard knows the bounds of every input that a route accepts, and each generator
 * truly reaches those that it names.
 */
import { expect, test } from "bun:test";

import { casesOf } from "../../harness/property-runs.ts";
import type { HttpRequest } from "../requests.ts";
import { type BodySchema, formatRoute, listRoutes, type Route } from "../routes.ts";
import { CALL_PARTS } from "./calls.ts";
import type { Part } from "./part.ts";
import { MEASURES, REACHED_BOUNDS, readBound, valueOf } from "./reach.ts";
import { sampleConditions } from "./schema-values.ts";
import { LINK_BOUNDS, LINK_PARTS, listLinks, VISITOR_PARTS } from "./visitors.ts";

/**
 * The share of a bound that an input must reach. An input must stay valid, and a head also has the
 * fields that every request has.
 */
const SHARE = 0.8;

const routes = listRoutes();

const CREATE: Route = routes.find((route) => formatRoute(route) === "api POST /v1/links") ?? {
  surface: "api",
  method: "POST",
  path: "/v1/links",
  query: [],
};

const EMPTY: HttpRequest = {
  method: "POST",
  path: "/",
  query: [],
  version: "HTTP/1.1",
  headers: [
    ["Host", "localhost"],
    ["X-Forwarded-For", "203.0.113.1"],
    ["Content-Type", "application/x-www-form-urlencoded"],
  ],
  body: undefined,
};

/** A part alone, filled as far as it goes. */
const fill = ({ fill: fillPart }: Part, route: Route): HttpRequest =>
  fillPart(EMPTY, {
    share: 1,
    room: 14_800,
    nonce: "n1",
    route,
    linkId: "link_01m7zzjr05ej28jkq18e9yeqkh",
  });

const levels = (parts: Readonly<Record<string, Readonly<Record<string, Part>>>>): Part[] =>
  Object.values(parts).flatMap((group) => Object.values(group));

/** The requests that a bound is reached by: those of the parts that name it. */
function requestsFor(bound: string): HttpRequest[] {
  const visits = [...levels(VISITOR_PARTS), ...LINK_PARTS]
    .filter(({ reaches }) => reaches.includes(bound))
    .map((part) => fill(part, CREATE));
  const calls = levels(CALL_PARTS)
    .filter(({ reaches }) => reaches.includes(bound))
    .flatMap((part) => routes.map((route) => fill(part, route)));
  const links = LINK_BOUNDS.includes(bound)
    ? listLinks(sampleConditions()).map(({ body }) => ({
        ...EMPTY,
        body: Buffer.from(JSON.stringify(body)),
      }))
    : [];
  return [...visits, ...calls, ...links];
}

test("each bound that a generator reaches has a measure, and no other", () => {
  expect(Object.keys(MEASURES).toSorted()).toEqual([...REACHED_BOUNDS].toSorted());
});

/** All bounds in the long form, else some. */
const bounds = [...REACHED_BOUNDS].toSorted(() => Math.random() - 0.5);

test.each(bounds.slice(0, casesOf(bounds.length)))("%s is reached", (bound) => {
  const measure = MEASURES[bound];
  const limit = valueOf(bound);
  expect(limit).toBeGreaterThan(0);
  const reached = Math.max(...requestsFor(bound).map((request) => measure?.(request) ?? 0));
  expect(reached).toBeGreaterThanOrEqual(SHARE * limit);
});

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
  domain: "api/domains/model.ts HOST_LENGTH_MAX",
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

/** The paths of texts and lists in the query and the body of a route that may have any length. */
function listUnbounded({ parameters, body }: Route): string[] {
  return [
    ...(parameters === undefined ? [] : walk(parameters, parameters, "query", [])),
    ...(body === undefined ? [] : walk(body, body, "body", [])),
  ];
}

function walk(
  schema: BodySchema,
  root: BodySchema,
  path: string,
  seen: readonly BodySchema[],
): string[] {
  if (seen.includes(schema)) return [];
  const inside = [...seen, schema];
  const named = root.$defs?.[schema.$ref?.split("/").at(-1) ?? ""];
  if (named !== undefined) return walk(named, root, path, inside);
  const types = typeof schema.type === "object" ? schema.type : [schema.type];
  const { pattern, format, maxLength, maxItems, enum: values, const: value } = schema;
  const hasForm = pattern !== undefined || format !== undefined || values !== undefined;
  const found: string[] = [];
  if (types.includes("string") && maxLength === undefined && !hasForm && value === undefined)
    found.push(path);
  if (types.includes("array") && maxItems === undefined) found.push(`${path}[]`);
  for (const choice of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])])
    found.push(...walk(choice, root, path, inside));
  for (const [name, member] of Object.entries(schema.properties ?? {}))
    found.push(...walk(member, root, `${path}.${name}`, inside));
  if (schema.items !== undefined) found.push(...walk(schema.items, root, `${path}[]`, inside));
  return found;
}
