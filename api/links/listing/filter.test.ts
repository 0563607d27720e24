/**
 * Goal: the domain of a filter is understood as short URLs show it, and no condition is passed over.
 */
import { expect, test } from "bun:test";

import { newUuid } from "../../../shared/ids.ts";
import { listLinksQuery } from "../model.ts";
import { toFilter } from "./filter.ts";

const owner = { accountId: newUuid(), mode: "live" as const };

const RULES = {
  allowPrivate: false,
  shortUrl: new URL("https://sho.rt"),
  ownHosts: new Set(["sho.rt"]),
};

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

test("what looks alike is searched alike: letters are composed, as links have them", () => {
  const query = listLinksQuery.parse({ search: "Cafe\u0301", tag: ["cre\u0300me"] });
  expect(toFilter(owner, query, RULES)).toMatchObject({
    search: "Café",
    respelled: "Cafe\u0301",
    tags: ["crème"],
  });
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
