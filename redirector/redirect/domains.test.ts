/**
 * Goal: a custom domain answers as its owner has set it and as takedowns allow, and requests that
 * fail there and elsewhere are counted, each once.
 */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import type { ActiveLink } from "../../shared/contracts/link-record.ts";
import { type TakedownList, takedownNotice } from "../../shared/contracts/notices.ts";
import { casesOf } from "../../test/harness/property-runs.ts";
import { LINK, locationIn, TestRedirector } from "../../test/harness/test-redirector.ts";

const HOST = "go.example.com";
const AT = { host: HOST };
const OWN: ActiveLink = { ...LINK, domain: HOST, alias: "own" };
const LIMIT = { id: LINK.account_id, max: 5, before: 0, stored: 0 };

describe("a custom domain", () => {
  test("answers as it has set it, from its second request on at once; its settings are read once", async () => {
    const redirector = new TestRedirector(
      { ...OWN, expires_at: 1 },
      { ...OWN, alias: "spent", extras: { limit: LIMIT } },
      { ...OWN, alias: "last", expires_at: 1, extras: { expired_url: "https://example.com/own" } },
    );
    redirector.settings.set(HOST, {
      root_url: "https://example.com/root",
      not_found_url: "https://example.com/not-found",
      expired_url: "https://example.com/over",
      assetlinks: [1],
    });
    redirector.takeClick = () => "spent";
    expect(await redirector.locationOf("/", AT)).toBe("https://example.com/root");
    expect(await redirector.locationOf("/own", AT)).toBe("https://example.com/over");
    expect(locationIn(redirector.atOnce("/own", AT))).toBe("https://example.com/over");
    expect(await redirector.locationOf("/last", AT)).toBe("https://example.com/own");
    // A limit that is reached has a URL of its own, or a page.
    expect(await redirector.statusOf("/spent", AT)).toBe(410);
    for (const method of ["GET", "HEAD"])
      expect(await redirector.locationOf("/nothing", { ...AT, method })).toBe(
        "https://example.com/not-found",
      );
    expect(await redirector.statusOf("/robots.txt", AT)).toBe(200);
    expect(await redirector.statusOf("/.well-known/assetlinks.json", AT)).toBe(200);
    expect(await redirector.statusOf("/.well-known/apple-app-site-association", AT)).toBe(404);
    expect(await redirector.statusOf("/nothing", { ...AT, method: "POST" })).toBe(404);
    expect(redirector.fetched.filter((name) => name.endsWith("@domain"))).toEqual([
      `${HOST}/@domain`,
    ]);
    expect(redirector.clicks).toEqual([]);
  });

  test("without settings is asked for them once, and never for a link that is cached", async () => {
    const redirector = new TestRedirector(OWN);
    expect(await redirector.statusOf("/own", AT)).toBe(302);
    expect(await redirector.statusOf("/nothing", AT)).toBe(404);
    expect(await redirector.statusOf("/", AT)).toBe(404);
    expect(redirector.fetched).toEqual([`${HOST}/@domain`, `${HOST}/own`, `${HOST}/nothing`]);
  });

  test("has pages while its settings cannot be read, and its own answers afterwards", async () => {
    const redirector = new TestRedirector();
    redirector.settings.set(HOST, { root_url: "https://example.com/root" });
    redirector.isBroken = true;
    expect(await redirector.statusOf("/", AT)).toBe(404);
    redirector.isBroken = false;
    expect(await redirector.locationOf("/", AT)).toBe("https://example.com/root");
  });

  test("that ignores case finds a link by any spelling of its alias, and no other link", async () => {
    const letter = fc.constantFrom(...Array.from("aBcXyZ01_-"));
    const alias = fc
      .array(letter, { minLength: 1, maxLength: 8 })
      .map((text) => `a${text.join("")}`);
    const fold = fc.constantFrom("all" as const, "switching" as const, undefined);
    const cases = fc.tuple(alias, alias, fold, fc.boolean(), fc.boolean());
    await fc.assert(
      fc.asyncProperty(cases, async ([stored, typed, folding, asTyped, formerIsDeleted]) => {
        // While a domain switches, some links are still under their aliases as typed.
        const isFolded = folding === "all" || (folding === "switching" && !asTyped);
        const name = isFolded ? stored.toLowerCase() : stored;
        const redirector = new TestRedirector({ ...OWN, alias: name });
        redirector.settings.set(HOST, folding === undefined ? {} : { fold: folding });
        if (formerIsDeleted && isFolded && name !== stored)
          redirector.cache.put({ state: "deleted", version: 1, domain: HOST, alias: stored });
        const expected =
          folding === undefined || !isFolded
            ? typed === stored || (folding === "switching" && typed.toLowerCase() === name)
            : typed.toLowerCase() === name;
        for (let i = 0; i < 2; i++)
          expect(await redirector.statusOf(`/${typed}`, AT)).toBe(expected ? 302 : 404);
      }),
      { numRuns: casesOf(200) },
    );
  });
});

describe("a takedown", () => {
  test.each<[string, Partial<TakedownList>, number[]]>([
    ["another account", { accounts: ["another"] }, [302, 302, 302, 200]],
    ["its account", { accounts: [LINK.account_id] }, [451, 451, 451, 451]],
    ["a host it leads to", { hosts: ["evil.example"] }, [302, 451, 302, 200]],
  ])("of %s answers 451 in the place of what it covers", async (_, list, expected) => {
    const redirector = new TestRedirector({ ...OWN, expires_at: 1 });
    redirector.settings.set(HOST, {
      root_url: "https://example.com/root",
      not_found_url: "https://www.evil.example/",
      expired_url: "https://example.com/over",
      assetlinks: [1],
    });
    redirector.takedowns.apply(takedownNotice({ accounts: [], hosts: [], ...list }));
    const statuses = [];
    for (const path of ["/", "/nothing", "/own", "/.well-known/assetlinks.json"])
      statuses.push(await redirector.statusOf(path, AT));
    expect(statuses).toEqual(expected);
  });

  test("of a link is 451 to everybody, and no click", async () => {
    const redirector = new TestRedirector(
      { ...LINK, extras: { taken_down: true } },
      {
        ...LINK,
        alias: "secret",
        password_hash: "hash",
        extras: { taken_down: true, disabled: true },
      },
    );
    for (const path of ["/abc", "/secret"])
      for (const method of ["GET", "HEAD"])
        expect(await redirector.statusOf(path, { method })).toBe(451);
    expect((await redirector.post("/secret", "password=right")).status).toBe(451);
    expect(redirector.clicks).toEqual([]);
  });
});

describe("a failed request", () => {
  test("counts once, also where the domain's settings had to be read first, and leads to another URL", async () => {
    const redirector = new TestRedirector({ ...OWN, expires_at: 1 });
    redirector.settings.set(HOST, { not_found_url: "https://example.com/", fold: "all" });
    expect(await redirector.locationOf("/Nothing", AT)).toBe("https://example.com/");
    for (let i = 0; i < 2; i++) await redirector.request("/own", AT);
    expect(redirector.failures).toEqual([
      ["unknown_alias", HOST, "nothing"],
      ["expired", "test", HOST],
      ["expired", "test", HOST],
    ]);
  });

  test.each<[string, Partial<ActiveLink>]>([
    ["expired", { expires_at: 1 }],
    ["expired", { expires_at: 1, extras: { expired_url: "https://example.com/over" } }],
    ["disabled", { extras: { disabled: true } }],
    ["not_started", { extras: { starts_at: 8e15 } }],
    ["limit_reached", { extras: { limit: LIMIT } }],
    ["limit_reached", { extras: { limit: LIMIT, confirm: true } }],
  ])("of a link counts as %s: %j", async (reason, part) => {
    const redirector = new TestRedirector({ ...LINK, ...part });
    redirector.takeClick = () => "spent";
    for (let i = 0; i < 2; i++)
      await (part.extras?.confirm === true
        ? redirector.post("/abc", "confirm=yes")
        : redirector.request("/abc"));
    expect(redirector.failures).toEqual([
      [reason, "test", ""],
      [reason, "test", ""],
    ]);
    await redirector.request("/abc", { method: "HEAD" });
    await redirector.request("/abc+");
    expect(redirector.failures).toHaveLength(2);
    expect(redirector.clicks).toEqual([]);
  });

  test("with a password counts if that is wrong, and neither without one nor with the right one", async () => {
    const redirector = new TestRedirector({ ...LINK, password_hash: "hash" });
    for (const body of ["password=wrong", "password=right", ""])
      await redirector.post("/abc", body);
    await redirector.request("/abc");
    expect(redirector.failures).toEqual([["wrong_password", "test", ""]]);
  });

  test("for an unknown alias counts only on a custom domain, and only where the path begins with an alias", async () => {
    const redirector = new TestRedirector(OWN);
    for (const path of ["/nothing", "/", "/robots.txt"]) await redirector.request(path);
    for (const path of "/ /-env /a,php /.env /.git/a /wp/a.php /apple-touch-icon-120x120-precomposed.png /favicon-32x32.png /ads.txt /sitemap.xml /site.webmanifest /favicon.ico /own /own/more /own+ /no+".split(
      " ",
    ))
      await redirector.request(path, AT);
    expect(redirector.failures).toEqual([]);
    for (const path of ["/n%6Fthing/", "/nothing", "/nothing/more", "/menus.pdf"])
      await redirector.request(path, AT);
    redirector.cache.put({ state: "deleted", version: 2, domain: HOST, alias: "own" });
    await redirector.request("/own", AT);
    const names = redirector.failures.map(([, , alias]) => alias);
    expect(names).toEqual(["nothing", "nothing", "nothing/more", "menus.pdf", "own"]);
  });

  test("that could not be looked up does not count", async () => {
    const redirector = new TestRedirector();
    redirector.isBroken = true;
    expect(await redirector.statusOf("/nothing", AT)).toBe(503);
    expect(redirector.failures).toEqual([]);
  });
});
