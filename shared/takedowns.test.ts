import { expect, test } from "bun:test";

import { type TakedownFields, TakedownSet } from "./takedowns.ts";

const link = (more: Partial<TakedownFields> = {}): TakedownFields => ({
  account_id: "0190a5a2-0000-7000-8000-000000000002",
  destination: "https://www.evil.example:8443/x?to=good.example",
  ...more,
});

const covers = (hosts: string[], fields: TakedownFields, accounts: string[] = []) =>
  new TakedownSet({ accounts, hosts }).covers(fields);

test("an account covers its links, and no others", () => {
  expect(covers([], link(), [link().account_id])).toBe(true);
  expect(covers([], link(), ["0190a5a2-0000-7000-8000-000000000003"])).toBe(false);
});

test.each<[string[], boolean]>([
  [["www.evil.example"], true],
  [["evil.example"], true],
  [["example"], true],
  [["vil.example"], false],
  [["good.example"], false],
  [["www.evil.example:8443"], false],
  [[], false],
])("the hosts %p", (hosts, expected) => {
  expect(covers(hosts, link())).toBe(expected);
});

test.each([
  "https://evil.example./",
  "https://EVIL.example/",
  "https://user@evil.example/",
  "https://good.example:x@evil.example",
  "http://evil.example?@good.example/",
  "http://evil.example#@good.example/",
])("a host is found however %p writes it", (text) => {
  const destination = new URL(text).href;
  expect(covers(["evil.example"], link({ destination }))).toBe(true);
  expect(covers(["good.example"], link({ destination }))).toBe(false);
});

test("every URL of a link counts", () => {
  const destination = "https://good.example/";
  const url = "https://evil.example/";
  const id = "0190a5a2-0000-7000-8000-000000000009";
  const all = [
    { expired_url: url },
    { rules: [{ id, url, conditions: [] }] },
    { split: { key: 1, arms: [{ id, url, weight: 1 }] } },
  ];
  for (const extras of all)
    expect(covers(["evil.example"], link({ destination, extras }))).toBe(true);
  expect(covers(["evil.example"], link({ destination, extras: { disabled: true } }))).toBe(false);
});
