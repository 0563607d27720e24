/** Goal: each generator of the cost guard truly reaches the bounds that it names. */
import { expect, test } from "bun:test";

import { casesOf } from "../../harness/property-runs.ts";
import type { HttpRequest } from "../requests.ts";
import { formatRoute, listRoutes, type Route } from "../routes.ts";
import { CALL_PARTS } from "./calls.ts";
import { REACHED_BOUNDS } from "./coverage.ts";
import type { Part } from "./part.ts";
import { MEASURES, valueOf } from "./reach.ts";
import { sampleConditions } from "./sample-conditions.ts";
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
