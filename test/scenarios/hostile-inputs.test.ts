import { expect, test } from "bun:test";

import { GENERATOR_NAMES, Inputs } from "../hostile/inputs.ts";
import type { Fixtures } from "../hostile/requests.ts";
import { formatRoute, listRoutes } from "../hostile/routes.ts";

const FIXTURES: Fixtures = {
  enterpriseKey: "sk_live_enterprise",
  freeKey: "sk_live_free",
  cookies: ["session=1"],
  endedCookie: "session=ended",
  dashboardOrigin: "http://localhost",
  linkId: "link_01m7zzjr05ej28jkq18e9yeqkh",
  paths: {
    "tags/name": "tag",
    external_id: "order",
    "views/name": "view",
    "link-filters/name": "filter",
    "utm-templates/name": "template",
    "deliveries/delivery": "dlv_1",
  },
};

const routes = listRoutes();
const inputsOf = (seed: number) => new Inputs(seed, routes, FIXTURES);

test("an input depends only on seed and index", () => {
  const inputs = inputsOf(1);
  const first = Array.from({ length: 300 }, (_, index) => inputs.make(index));
  for (const index of [299, 0, 150])
    expect(inputsOf(1).make(index)).toEqual(first[index] ?? inputs.make(index));
  expect(inputsOf(2).make(0)).not.toEqual(inputs.make(0));
});

test("a round attacks every route with every generator, and covers all routes from the start", () => {
  const inputs = inputsOf(3);
  const generated = Array.from({ length: routes.length * GENERATOR_NAMES.length }, (_, i) =>
    inputs.make(i),
  );
  expect(
    new Set(generated.map(({ route, generator }) => `${formatRoute(route)} ${generator}`)).size,
  ).toBe(generated.length);
  expect(
    new Set(generated.slice(0, routes.length).map(({ route }) => formatRoute(route))).size,
  ).toBe(routes.length);
});

test("the routes of both applications are listed with their fields", () => {
  const names = routes.map(formatRoute);
  expect(names).toContain("api POST /v1/links");
  expect(names).toContain("dashboard POST /auth/sign-in");
  expect(names).toContain("dashboard GET /api/:account/:mode/v1/analytics/geo");
  expect(routes.find((route) => formatRoute(route) === "api GET /v1/links")?.query).toContain(
    "search",
  );
  const signIn = routes.find((route) => formatRoute(route) === "dashboard POST /auth/sign-in");
  expect(Object.keys(signIn?.body?.properties ?? {})).toEqual(["email", "password"]);
});

test("resources that the attack still needs are never deleted", () => {
  const deleting = routes.filter(({ method }) => method === "DELETE");
  const inputs = new Inputs(4, deleting, FIXTURES);
  for (let index = 0; index < 500; index++) {
    expect(inputs.make(index).bytes.includes(`${FIXTURES.linkId} HTTP`)).toBe(false);
  }
});
