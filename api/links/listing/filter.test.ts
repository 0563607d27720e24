/**
 * Goal: the domain of a filter is understood as short URLs show it, and no condition is passed over.
 */
import { expect, test } from "bun:test";

import { newUuid } from "../../../shared/ids.ts";
import { linkConditions } from "../model.ts";
import { selectsAll, selectsUnarchived, toFilter } from "./filter.ts";

const owner = { accountId: newUuid(), mode: "live" as const };

const RULES = {
  allowPrivate: false,
  shortUrl: new URL("https://sho.rt"),
  ownHosts: new Set(["sho.rt"]),
};

const VALUES: Readonly<Record<keyof typeof linkConditions.shape, unknown>> = {
  search: "x",
  tag: ["a"],
  alias: "a",
  domain: "sho.rt",
  url: "https://example.com/",
  external_id: "a",
  utm_source: { anyOf: ["a"], noneOf: [] },
  utm_medium: { anyOf: ["a"], noneOf: [] },
  utm_campaign: { anyOf: ["a"], noneOf: [] },
  utm_term: { anyOf: [], noneOf: ["a"] },
  utm_content: { anyOf: [], noneOf: [""] },
  created_by: "key_1",
  created_after: "2026-01-01T00:00:00Z",
  created_before: "2026-01-01T00:00:00Z",
  expired: "false",
  archived: "true",
};

test.each(Object.keys(linkConditions.shape))("a list by %s is not one of all links", (name) => {
  for (const archived of ["any", "false"] as const) {
    const all = toFilter(owner, { archived }, RULES);
    const some = toFilter(owner, { archived, [name]: Reflect.get(VALUES, name) }, RULES);
    if (all === undefined || some === undefined) throw new Error("No link can match.");
    expect([selectsAll(all), selectsUnarchived(all)]).toEqual([
      archived === "any",
      archived !== "any",
    ]);
    expect([selectsAll(some), selectsUnarchived(some)]).toEqual([false, false]);
  }
});

test("a NUL in any text is in no link", () => {
  for (const name of ["search", "tag", "alias", "external_id", "created_by"])
    expect([name, toFilter(owner, { [name]: "a\u0000" }, RULES)]).toEqual([name, undefined]);
});

const domainOf = (domain: string, shortUrl: string) =>
  toFilter(owner, { domain }, { ...RULES, shortUrl: new URL(shortUrl) })?.domain;

test.each([
  ["sho.rt", "http://sho.rt:8080", "own"],
  ["sho.rt:8080", "http://sho.rt:8080", "own"],
  ["SHO.RT:8080", "http://sho.rt:8080", "own"],
  // Custom domains have the same port.
  ["go.example.com:8080", "http://sho.rt:8080", { host: "go.example.com" }],
  ["go.example.com", "http://sho.rt:8080", { host: "go.example.com" }],
  // No short URL has these ports.
  ["sho.rt:80", "http://sho.rt:8080", { host: "sho.rt:80" }],
  ["sho.rt:18080", "http://sho.rt:8080", { host: "sho.rt:18080" }],
  ["sho.rt:8080", "https://sho.rt", { host: "sho.rt:8080" }],
  ["sho.rt:", "https://sho.rt", { host: "sho.rt:" }],
  ["sho.rt.", "https://sho.rt", "own"],
  ["\u200bsho.rt ", "https://sho.rt", "own"],
  ["Bücher.de", "https://sho.rt", { host: "xn--bcher-kva.de" }],
  ["bücher.de:8080", "http://sho.rt:8080", { host: "xn--bcher-kva.de" }],
  ["XN--BCHER-KVA.de", "https://sho.rt", { host: "xn--bcher-kva.de" }],
] as const)("%s is on a service at %s the domain %p", (domain, shortUrl, expected) => {
  expect(domainOf(domain, shortUrl)).toEqual(expected);
});

test.each([
  ["münchen.example", "xn--mnchen-3ya.example"],
  ["https://BÜCHER.de/Straße?q=1", "https://xn--bcher-kva.de/Straße?q=1"],
  ["xn--bcher-kva.de/x", "bücher.de/x"],
  ["Sale in bücher.de", "Sale in xn--bcher-kva.de"],
  ["example.com", null],
  ["EXAMPLE.com/Größe", null],
  ["größe", null],
  ["50 %. ", null],
])("the search %j is also one for %p", (search, respelled) => {
  expect(toFilter(owner, { search }, RULES)?.respelled).toBe(respelled);
});

test.each([
  ["https://example.com", "https://example.com/"],
  ["\u200bhttps://EXAMPLE.com/\u200b", "https://example.com/"],
  ["https://bücher.de/ü", "https://xn--bcher-kva.de/%C3%BC"],
  ["https://example.com/?a=|", "https://example.com/?a=%7C"],
  ["nonsense", "nonsense"],
])("the destination %j is %s", (url, targetUrl) => {
  expect(toFilter(owner, { url }, RULES)?.targetUrl).toBe(targetUrl);
});
