import { describe, expect, test } from "bun:test";

import fc from "fast-check";
import * as z from "zod";

import { loadConfig } from "../env.ts";
import { DOMAIN_ALIAS, TAKEDOWNS_ALIAS } from "./feed-notices.ts";
import { ALL_LINKS_STREAMS, envLinksStreams, isInStream, linksStreams } from "./links-streams.ts";
import { HEARTBEAT_SUBJECT, heartbeatSubject, linkSubject, shortLinkOfSubject } from "./streams.ts";

const domains = fc.constantFrom("", "go.example.com", "xn--bcher-kva.example");
const aliases = fc.stringMatching(/^[\w-]{1,50}$/);

/** The number of the stream, of four, that has a link. */
const streamOf = (domain: string, alias: string) =>
  linksStreams(4).findIndex((stream) => isInStream(stream, { domain, alias }));

/** The names of the streams that a value makes redirectors follow, and the API publish to. */
const read = (LINKS_STREAMS?: string) => {
  const env = LINKS_STREAMS === undefined ? {} : { LINKS_STREAMS };
  const { followed, published } = loadConfig(
    z.object({ LINKS_STREAMS: envLinksStreams }),
    env,
  ).LINKS_STREAMS;
  return [followed, published].map((streams) => streams.map(({ name }) => name).join());
};

describe("a divided links feed", () => {
  test("has each link in one stream, and each notice in all", () => {
    fc.assert(
      fc.property(domains, aliases, fc.constantFrom(1, 4, 7), (domain, alias, count) => {
        const holders = linksStreams(count).filter((stream) =>
          isInStream(stream, { domain, alias }),
        );
        expect(holders).toHaveLength(1);
      }),
    );
    for (const alias of [DOMAIN_ALIAS, TAKEDOWNS_ALIAS])
      for (const stream of ALL_LINKS_STREAMS)
        expect(isInStream(stream, { domain: "go.example.com", alias })).toBe(true);
  });

  test("has a link in the same stream for ever", () => {
    // CRC-32 of `/a`, `/b`, `go.example.com/a`, `/Launch-2026`, modulo 4, as cksum and zlib have
    // it.
    const places = [
      ["", "a"],
      ["", "b"],
      ["go.example.com", "a"],
      ["", "Launch-2026"],
    ] as const;
    expect(places.map(([domain, alias]) => streamOf(domain, alias))).toEqual([0, 2, 3, 3]);
  });

  test.each<[string, (i: number) => string]>([
    ["in a row", (i) => `link-${i}`],
    ["in a row, in base 36", (i) => i.toString(36).padStart(6, "0")],
    [
      "of letters only",
      (i) => String(i).replaceAll(/\d/g, (digit) => "aeimquyAEI"[Number(digit)] ?? ""),
    ],
  ])("has as many links in each stream, whose aliases are %s", (_name, aliasOf) => {
    const counts = [0, 0, 0, 0];
    for (let i = 0; i < 20_000; i++)
      for (const [index, stream] of linksStreams(4).entries())
        if (isInStream(stream, { domain: "", alias: aliasOf(i) }))
          counts[index] = (counts[index] ?? 0) + 1;
    for (const count of counts) expect(Math.abs(count - 5_000)).toBeLessThan(300);
  });

  test("has subjects of its own for each number of streams, and every subject says which link it is of", () => {
    fc.assert(
      fc.property(domains, aliases, (domain, alias) => {
        const subjects = ALL_LINKS_STREAMS.map((stream) => linkSubject({ domain, alias }, stream));
        expect(new Set(subjects).size).toBe(subjects.length);
        for (const subject of subjects)
          expect(shortLinkOfSubject(subject)).toEqual({ domain, alias });
      }),
    );
    for (const stream of ALL_LINKS_STREAMS)
      expect(shortLinkOfSubject(heartbeatSubject(stream))).toBeUndefined();
  });
});

test("a feed that is not divided has the stream and the subjects that it always had", () => {
  expect(linksStreams(1).map(({ name }) => name)).toEqual(["LINKS"]);
  expect(linkSubject({ domain: "go.example.com", alias: "a" })).toBe("links.go_example_com.a");
  expect(linkSubject({ domain: "", alias: "a" })).toBe("links._.a");
  expect(HEARTBEAT_SUBJECT).toBe("links.heartbeat");
});

describe("LINKS_STREAMS", () => {
  const four = "LINKS_4_0,LINKS_4_1,LINKS_4_2,LINKS_4_3";

  test.each([
    [undefined, ["LINKS", "LINKS"]],
    ["1", ["LINKS", "LINKS"]],
    ["4", [four, four]],
    ["1,4", ["LINKS", `LINKS,${four}`]],
    ["4, 1", [four, `${four},LINKS`]],
    ["4,4", [four, four]],
  ])("%s: redirectors follow the first feed, and changes are published to all", (value, names) => {
    expect(read(value)).toEqual(names);
  });

  test.each(["0", "2", "four", ",", "1;4"])("%s is refused", (value) => {
    expect(() => read(value)).toThrow("LINKS_STREAMS");
  });
});
