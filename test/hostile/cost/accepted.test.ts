/** Goal: the cost guard's inputs are valid, so that they reach the code behind the validation. */
import { expect, test } from "bun:test";

import type { HttpRequest } from "../requests.ts";
import { formatRoute, listRoutes, type Route } from "../routes.ts";
import { CALL_PARTS } from "./calls.ts";
import type { Part } from "./part.ts";
import { sampleConditions } from "./schema-values.ts";
import { listLinks } from "./visitors.ts";

const EMPTY: HttpRequest = {
  method: "POST",
  path: "/",
  query: [],
  version: "HTTP/1.1",
  headers: [],
  body: undefined,
};

const fillFor = ({ fill }: Part, route: Route): HttpRequest =>
  fill(EMPTY, {
    share: 1,
    room: 14_000,
    nonce: "n1",
    route,
    linkId: "link_01m7zzjr05ej28jkq18e9yeqkh",
  });

function parseQuery({ query }: HttpRequest): Record<string, string | string[]> {
  const values = Map.groupBy(query, ([name]) => name);
  return Object.fromEntries(
    [...values].map(([name, pairs]) => {
      const texts = pairs.map(([, value]) => decodeURIComponent(value));
      return [name, texts.length === 1 ? (texts[0] ?? "") : texts];
    }),
  );
}

const routes = listRoutes();

test.each([
  "many values",
  "many values, required members",
  "long texts",
  "many long texts",
] as const)("every route's validation accepts its filled body: %s", async (level) => {
  for (const route of routes) {
    if (route.body === undefined) continue;
    const { body } = fillFor(CALL_PARTS.body[level], route);
    const result = await route.validators?.body?.safeParseAsync(JSON.parse(String(body)));
    expect(result?.error?.issues ?? [], formatRoute(route)).toEqual([]);
  }
});

test.each(["many values", "long texts"] as const)(
  "every route's validation accepts its filled query: %s",
  async (level) => {
    for (const route of routes) {
      if (route.parameters === undefined) continue;
      const query = parseQuery(fillFor(CALL_PARTS.query[level], route));
      const result = await route.validators?.parameters?.safeParseAsync(query);
      expect(result?.error?.issues ?? [], formatRoute(route)).toEqual([]);
    }
  },
);

test("a link is made for each kind of condition, and the API's validation accepts it", async () => {
  const create = routes.find((route) => formatRoute(route) === "api POST /v1/links");
  const conditions = sampleConditions();
  expect(conditions.length).toBe(create?.body?.$defs?.["LinkCondition"]?.oneOf?.length ?? -1);
  for (const { alias, body } of listLinks(conditions)) {
    const result = await create?.validators?.body?.safeParseAsync(body);
    expect(result?.error?.issues ?? [], alias).toEqual([]);
  }
});
