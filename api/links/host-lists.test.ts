/** Goal: a list means what its publisher means by it, in each format; and checks are cheap. */
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import fc from "fast-check";

import { processLog } from "../../shared/log.ts";
import { dirForFile } from "../../test/harness/for-file.ts";
import { HostLists, HostSet, nameOf, readLine } from "./host-lists.ts";

const folder = dirForFile("host-lists-");

const log = processLog("test", "silent");

describe("a line", () => {
  test.each([
    ["0.0.0.0 bad.example", ["bad.example"]],
    ["127.0.0.1\tbad.example worse.example # both", ["bad.example", "worse.example"]],
    ["::1 localhost", []],
    ["||bad.example^", [".bad.example"]],
    ["||bad.example^$all", [".bad.example"]],
    ["||bad.example^$script", []],
    ["||bad.example/path", []],
    ["@@||good.example^", []],
    ["! comment", []],
    ["# comment", []],
    ["[Adblock Plus]", []],
    ["bad.example", [".bad.example"]],
    ["*.bad.example", [".bad.example"]],
    [".Bad.Example.", [".bad.example"]],
    ["B\u00fccher.example", [".xn--bcher-kva.example"]],
    [
      '"1","2026-01-01","http://bad.example:8080/a.exe","online","","x","y","z","q"',
      ["bad.example"],
    ],
    ['"1","2026-01-01","http://192.0.2.7/a.exe","online","","x","y","z","q"', ["192.0.2.7"]],
    ["com", []],
    ["", []],
    ["<html>", []],
    ["one two three", []],
  ])("%s", (line, hosts) => expect(readLine(line)).toEqual([...hosts]));

  test("of any text has hosts or nothing", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        for (const host of readLine(text)) expect(host).toMatch(/^\.?[\w-]+(?:\.[\w-]+)+$|^\.?\[/);
      }),
    );
  });
});

test("a set has what was added, also over many runs, and nothing else", () => {
  const hosts = new HostSet();
  for (let i = 0; i < 300_000; i++) hosts.add(`host-${i}.example`);
  hosts.add(".below.example");
  hosts.seal();
  expect(hosts.size).toBe(300_001);
  for (let i = 0; i < 300_000; i += 997) expect(hosts.has(`host-${i}.example`)).toBe(true);
  expect(["below.example", "a.b.below.example"].map((host) => hosts.has(host))).toEqual([
    true,
    true,
  ]);
  const others = ["example", "www.host-1.example", "notbelow.example", "host-300000.example", ""];
  expect(others.filter((host) => hosts.has(host))).toEqual([]);
});

test("lists are read again, and what cannot be read stays as it was", async () => {
  const path = join(folder, "list");
  using server = Bun.serve({ port: 0, fetch: () => new Response("||far.example^\n") });
  writeFileSync(path, "0.0.0.0 bad.example");
  const lists = new HostLists(
    {
      DESTINATION_LISTS: [path, `${server.url.href}hosts?key=secret`],
      DESTINATION_LISTS_EXCEPT: ["good.far.example"],
    },
    log,
  );
  expect([lists.version, lists.find("bad.example")]).toEqual(["", undefined]);
  await lists.refresh();
  const { version, changedAt } = lists;
  expect(lists.find("bad.example")).toBe(path);
  expect(nameOf(lists.find("www.far.example") ?? "/")).toBe(server.url.origin);
  expect([lists.find("good.far.example"), lists.find("a.example")]).toEqual([undefined, undefined]);
  await lists.refresh();
  expect([lists.version, lists.changedAt]).toEqual([version, changedAt]);
  writeFileSync(path, "0.0.0.0 other.example");
  await server.stop(true);
  await lists.refresh();
  expect(
    ["bad.example", "other.example", "far.example"].map((host) => lists.find(host) !== undefined),
  ).toEqual([false, true, true]);
  expect(lists.version).not.toBe(version);
});
