/** Goal: every input that a route accepts has a bound, which the cost guard reads. */
import { expect, test } from "bun:test";

import { SEGMENT_CLICKS_MAX } from "../../../shared/contracts/click-segment.ts";
import { type BodySchema, formatRoute, listRoutes, type Route } from "../routes.ts";
import { bound } from "./bounds.ts";

test("a bound is what the product's source says, and one that is gone is missed", () => {
  expect(bound("shared/contracts/click-segment.ts", "SEGMENT_CLICKS_MAX")).toBe(SEGMENT_CLICKS_MAX);
  expect(() => bound("shared/contracts/click-segment.ts", "NOTHING_MAX")).toThrow("NOTHING_MAX");
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
