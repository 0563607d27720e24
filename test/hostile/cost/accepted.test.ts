/** Goal: the cost guard's inputs are valid, so that they reach the code behind the validation. */
import { expect, test } from "bun:test";

import * as z from "zod";

import type { HttpRequest } from "../requests.ts";
import { formatRoute, listRoutes, type Route } from "../routes.ts";
import { sampleConditions } from "../schema-values.ts";
import { bound } from "./bounds.ts";
import { CALL_PARTS } from "./calls.ts";
import type { Part } from "./part.ts";
import { listLinks } from "./visitors.ts";

const EMPTY: HttpRequest = {
  method: "POST",
  path: "/",
  query: [],
  version: "HTTP/1.1",
  headers: [],
  body: undefined,
};

const fillFor = (part: Part, route: Route): HttpRequest =>
  part(EMPTY, {
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
const createRoute = routes.find((route) => formatRoute(route) === "api POST /v1/links");
if (createRoute === undefined) throw new Error("Links cannot be created.");

const filledLink = z.object({
  title: z.string(),
  tags: z.array(z.string()),
  url: z.string(),
  rules: z.array(z.unknown()),
});

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

test("a filled body is at the bounds of its schema", () => {
  const { body } = fillFor(CALL_PARTS.body["many long texts"], createRoute);
  const { title, tags, url, rules } = filledLink.parse(JSON.parse(String(body)));
  expect([title.length, tags.length, url.length, rules.length]).toEqual([
    bound("shared/contracts/link-schemas.ts", "TITLE_LENGTH_MAX"),
    bound("shared/contracts/link-schemas.ts", "TAGS_MAX"),
    bound("shared/contracts/web-url.ts", "URL_LENGTH_MAX"),
    bound("shared/contracts/link-rules.ts", "RULES_MAX"),
  ]);
});

test("a link is made for each kind of condition, and the API's validation accepts it", async () => {
  const conditions = sampleConditions();
  expect(conditions.length).toBe(createRoute.body?.$defs?.["LinkCondition"]?.oneOf?.length ?? -1);
  for (const { alias, body } of listLinks(conditions)) {
    const result = await createRoute.validators?.body?.safeParseAsync(body);
    expect(result?.error?.issues ?? [], alias).toEqual([]);
  }
});
