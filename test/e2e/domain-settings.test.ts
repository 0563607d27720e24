/**
 * Goal: a domain's settings are what its visitors get on every redirector, and only its own account
 * changes them.
 */
import { describe, expect, test } from "bun:test";

import { admin, runAdmin } from "../harness/admin.ts";
import { type ApiResponse, callOnce, codeOf, errorSchema } from "../harness/api.ts";
import { Dns } from "../harness/dns.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { type Json, OwnLinks } from "../harness/own-links.ts";
import { startRedirector } from "../harness/processes.ts";
import { longTest } from "../harness/property-runs.ts";
import { useStack } from "../harness/stack.ts";

const dns = await forFile(Dns.start());
const stack = await forFile(useStack({ dns }));
const second = await forFile(startRedirector(stack));
const links = await OwnLinks.start(stack);

const send = (path: string, method: string, body?: Json) => links.send(path, method, body);

let added = 0;

/** Adds a domain with a name of its own, and verifies it. */
async function addDomain(settings?: Json) {
  const domain = await links.addDomain(dns, `d${++added}.settings.example`);
  if (settings !== undefined) await change(domain.id, settings);
  return domain;
}

const patch = (id: string, body: Json) => send(`/v1/domains/${id}`, "PATCH", body);

async function change(id: string, body: Json) {
  const response = await patch(id, body);
  expect([response.status, response.body]).toEqual([200, expect.anything()]);
  return response.body as Json;
}

const expectError = async (response: Promise<ApiResponse>, status: number, code: string) =>
  expect(codeOf(await response)).toEqual([status, code]);

const create = (body: Json) => links.create({ url: "https://example.com/", ...body });

/** Follows a path of a domain on each redirector; returns the responses' status and destination. */
const follow = (host: string, path: string, options: Parameters<typeof callOnce>[1] = {}) =>
  Promise.all(
    [stack.info().short_url, second.url].map(async (origin) => {
      const response = await callOnce(`${origin}${path}`, { ...options, headers: { host } });
      return [response.status, response.headers.get("location")];
    }),
  );

/** Waits until all redirectors respond so. */
const becomes = (host: string, path: string, status: number, location: string | null = null) =>
  eventually(async () =>
    expect(await follow(host, path)).toEqual([
      [status, location],
      [status, location],
    ]),
  );

describe("the URLs of a domain", () => {
  test("lead from `/`, from aliases without a link and from expired links; without them there are pages", async () => {
    const { domain, id } = await addDomain();
    const expired = await create({
      domain,
      alias: "over",
      expires_at: new Date(Date.now() + 1_000).toISOString(),
    });
    const own = await create({
      domain,
      alias: "own",
      expired_url: "https://example.com/own",
      expires_at: new Date(Date.now() + 1_000).toISOString(),
    });
    await create({ domain, alias: "hidden", disabled: true });
    // Followed before, they would have clicks.
    for (const link of [expired, own])
      await eventually(async () =>
        expect((await send(`/v1/links/${link.id}`, "GET")).body).toHaveProperty(
          "status",
          "expired",
        ),
      );
    await becomes(domain, "/over", 410);
    await becomes(domain, "/", 404);
    await becomes(domain, "/nothing", 404);
    const settings = {
      root_url: "https://www.example.com/",
      not_found_url: "https://www.example.com/not-found",
      expired_url: "https://www.example.com/over",
    };
    expect(await change(id, settings)).toMatchObject(settings);
    expect((await send(`/v1/domains/${id}`, "GET")).body).toMatchObject(settings);
    await becomes(domain, "/", 302, settings.root_url);
    await becomes(domain, "/nothing", 302, settings.not_found_url);
    await becomes(domain, "/a/b", 302, settings.not_found_url);
    await becomes(domain, "/hidden", 302, settings.not_found_url);
    await becomes(domain, "/over", 302, settings.expired_url);
    await becomes(domain, "/own", 302, "https://example.com/own");
    await becomes(domain, "/robots.txt", 200);
    await becomes(domain, "/.well-known/change-password", 404);
    // The default domain and others stay as they are.
    await becomes("localhost", "/nothing", 404);
    await becomes((await addDomain()).domain, "/nothing", 404);
    const response = await callOnce(`${stack.info().short_url}/nothing`, {
      headers: { host: domain },
    });
    expect(response.headers.get("cache-control")).toContain("no-store");
    expect((await follow(domain, "/nothing", { method: "HEAD" }))[0]).toEqual([
      302,
      settings.not_found_url,
    ]);
    for (const method of ["POST", "DELETE"])
      expect((await follow(domain, "/nothing", { method }))[0]?.[1]).toBeNull();
    const cleared = await change(id, { root_url: null, not_found_url: null, expired_url: null });
    expect(Object.keys(cleared)).not.toContainAnyValues(Object.keys(settings));
    await becomes(domain, "/", 404);
    await becomes(domain, "/nothing", 404);
    await becomes(domain, "/over", 410);
    // A fallback is no click.
    for (const { id: link } of [expired, own])
      expect((await send(`/v1/links/${link}`, "GET")).body).toMatchObject({ clicks: 0 });
  });

  test("say by which status links redirect that do not say it themselves", async () => {
    const { id, domain } = await addDomain();
    await create({ domain, alias: "plain" });
    await create({ domain, alias: "own", redirect_status: 307 });
    const { id: reset } = await create({ domain, alias: "reset", redirect_status: 308 });
    await becomes(domain, "/plain", 302, "https://example.com/");
    expect(await change(id, { redirect_status: 301 })).toMatchObject({ redirect_status: 301 });
    await becomes(domain, "/plain", 301, "https://example.com/");
    await becomes(domain, "/own", 307, "https://example.com/");
    await becomes(domain, "/reset", 308, "https://example.com/");
    await send(`/v1/links/${reset}`, "PATCH", { redirect_status: null });
    await becomes(domain, "/reset", 301, "https://example.com/");
    const response = await callOnce(`${stack.info().short_url}/plain`, {
      headers: { host: domain },
    });
    expect(response.headers.get("cache-control")).toBe("private, no-store");
    expect((await patch(id, { redirect_status: 303 })).status).toBe(400);
    expect(await change(id, { redirect_status: null })).not.toHaveProperty("redirect_status");
    await becomes(domain, "/plain", 302, "https://example.com/");
  });

  test("form no loop, and pass the checks of every destination", async () => {
    const [{ id, domain }, other] = [await addDomain(), await addDomain()];
    const { host } = new URL(stack.info().short_url);
    for (const field of ["root_url", "not_found_url", "expired_url"])
      for (const url of [
        `https://${domain}/x`,
        `http://${other.domain.toUpperCase()}.:8080/`,
        `http://${host}/`,
        "ftp://example.com/",
        "//example.com/",
        "javascript:alert(1)",
        "nonsense",
      ]) {
        const { status, body } = await patch(id, { [field]: url });
        const { error } = errorSchema.loose().parse(body);
        expect([url, status, error.code]).toEqual([url, 400, "invalid_url"]);
        expect(JSON.stringify(body)).toContain(field);
      }
    await expectError(patch(id, { root_url: 5 }), 400, "invalid_request");
    await expectError(patch(id, { root: "https://example.com/" }), 400, "invalid_request");
    expect((await send(`/v1/domains/${id}`, "GET")).body).not.toHaveProperty("root_url");
  });
});

describe("files for apps", () => {
  const APPLE = "/.well-known/apple-app-site-association";
  const ANDROID = "/.well-known/assetlinks.json";

  test("are served as JSON without a redirect, and are 404 when unset", async () => {
    const { domain, id } = await addDomain({ not_found_url: "https://www.example.com/" });
    for (const path of [APPLE, ANDROID]) await becomes(domain, path, 404);
    const apple_app_site_association = { applinks: { details: [{ appIDs: ["A.com.example"] }] } };
    const assetlinks = [{ relation: ["delegate_permission/common.handle_all_urls"], n: "</ü>" }];
    const changed = await change(id, { apple_app_site_association, assetlinks });
    expect(changed).toMatchObject({ apple_app_site_association, assetlinks });
    await becomes(domain, APPLE, 200);
    for (const [path, content] of [
      [APPLE, apple_app_site_association],
      [ANDROID, assetlinks],
    ] as const)
      for (const origin of [stack.info().short_url, second.url]) {
        const response = await callOnce(`${origin}${path}`, { headers: { host: domain } });
        expect([response.status, response.headers.get("content-type")]).toEqual([
          200,
          "application/json",
        ]);
        expect(response.body).toEqual(content);
      }
    await becomes("localhost", APPLE, 404);
    await change(id, { apple_app_site_association: null, assetlinks: null });
    for (const path of [APPLE, ANDROID]) await becomes(domain, path, 404);
  });

  test("have 16 KiB at most, each", async () => {
    const { id } = await addDomain();
    const text = "x".repeat(16 * 1024 - '{"a":""}'.length);
    await change(id, { apple_app_site_association: { a: text }, assetlinks: [text] });
    await expectError(
      patch(id, { apple_app_site_association: { a: `${text}x` } }),
      400,
      "invalid_request",
    );
    await expectError(patch(id, { assetlinks: [`${text}1234567890`] }), 400, "invalid_request");
    await expectError(patch(id, { assetlinks: {} }), 400, "invalid_request");
    await expectError(patch(id, { apple_app_site_association: [] }), 400, "invalid_request");
  });
});

test("an alias leads elsewhere on each domain, and nowhere on a host of nobody", async () => {
  const { host: own } = new URL(stack.info().short_url);
  const { domain } = await addDomain();
  const alias = `same-${domain}`;
  await create({ alias, url: "https://example.com/of-the-service" });
  const { domain: written } = await create({
    alias,
    domain: domain.toUpperCase(),
    url: "https://example.com/of-the-account",
  });
  expect(written).toBe(domain);
  await becomes(own, `/${alias}`, 302, "https://example.com/of-the-service");
  await becomes(`${domain}:8080`, `/${alias}`, 302, "https://example.com/of-the-account");
  await becomes("unknown.example.com", `/${alias}`, 404);
});

/** Waits until a domain has switched. */
const switched = (id: string) =>
  eventually(
    async () =>
      expect((await send(`/v1/domains/${id}`, "GET")).body).not.toHaveProperty("switching"),
    30_000,
  );

describe("a domain without case", () => {
  test("keeps aliases as they were typed, finds them in any case, and has each once", async () => {
    const { domain, id } = await addDomain({ case_sensitive: false });
    expect((await send(`/v1/domains/${id}`, "GET")).body).toMatchObject({ case_sensitive: false });
    await switched(id);
    const link = await create({ domain, alias: "SummerSale" });
    expect(link).toMatchObject({ alias: "SummerSale" });
    for (const path of ["/SummerSale", "/summersale", "/SUMMERSALE", "/%53ummersale/"])
      await becomes(domain, path, 302, "https://example.com/");
    await expectError(
      send("/v1/links", "POST", { url: "https://example.com/", domain, alias: "summerSALE" }),
      400,
      "alias_taken",
    );
    const rows = ["A-1", "a-1", "B-1"].map((alias) => ({
      url: "https://example.com/",
      domain,
      alias,
    }));
    const bulk = await send("/v1/links/bulk", "POST", { links: rows });
    expect(JSON.stringify(bulk.body)).toContain("alias_taken");
    await becomes(domain, "/a-1", 302, "https://example.com/");
    const again = await send("/v1/links/bulk", "POST", {
      links: [{ url: "https://example.com/", domain, alias: "b-1" }],
    });
    expect(JSON.stringify(again.body)).toContain("alias_taken");
    const generated = await create({ domain });
    expect(generated.alias.length).toBeGreaterThan(7);
    await becomes(domain, `/${generated.alias.toLowerCase()}`, 302, "https://example.com/");
    const found = await send(`/v1/links/lookup?domain=${domain}&alias=SUMMERsale`, "GET");
    expect(found.body).toMatchObject({ id: link.id });
    // Renamed to the same alias in another case, and to another one.
    expect((await send(`/v1/links/${link.id}`, "PATCH", { alias: "summersale" })).status).toBe(200);
    await becomes(domain, "/SummerSale", 302, "https://example.com/");
    await expectError(send(`/v1/links/${link.id}`, "PATCH", { alias: "b-1" }), 400, "alias_taken");
    await send(`/v1/links/${link.id}`, "PATCH", { alias: "WinterSale" });
    await becomes(domain, "/SummerSale", 404);
    await becomes(domain, "/WINTERSALE", 302, "https://example.com/");
    await send(`/v1/links/${link.id}`, "DELETE");
    await becomes(domain, "/WinterSale", 404);
  });

  longTest("switches with its links, which redirect all the while, and back", async () => {
    const { domain, id } = await addDomain();
    const aliases = Array.from({ length: 450 }, (_, i) => `Alias-${i}-X`);
    for (let i = 0; i < aliases.length; i += 100) {
      const rows = aliases.slice(i, i + 100).map((alias) => ({
        url: "https://example.com/",
        domain,
        alias,
      }));
      expect((await send("/v1/links/bulk", "POST", { links: rows })).status).toBe(200);
    }
    const probes = aliases.filter((_, i) => i % 50 === 0);
    for (const probe of probes) await becomes(domain, `/${probe}`, 302, "https://example.com/");
    await becomes(domain, "/alias-0-x", 404);
    let switching = true;
    const failures: unknown[] = [];
    const watching = (async () => {
      while (switching)
        for (const probe of probes)
          for (const [status] of await follow(domain, `/${probe}`))
            if (status !== 302) failures.push([probe, status]);
    })();
    for (const case_sensitive of [false, true]) {
      await change(id, { case_sensitive });
      await switched(id);
      await eventually(async () =>
        expect((await follow(domain, "/alias-1-x")).map(([status]) => status)).toEqual(
          case_sensitive ? [404, 404] : [302, 302],
        ),
      );
    }
    switching = false;
    await watching;
    expect(failures).toEqual([]);
    await create({ domain, alias: "alias-0-x", url: "https://example.com/lower" });
    await becomes(domain, "/alias-0-x", 302, "https://example.com/lower");
    await becomes(domain, "/Alias-0-X", 302, "https://example.com/");
  });
});

describe("a domain that changes hands", () => {
  test("by an operator's release: its links stop, and redirect again for who proves it again", async () => {
    const { domain, id } = await addDomain({ root_url: "https://www.example.com/" });
    const { id: link } = await create({ domain, alias: "Page" });
    await becomes(domain, "/Page", 302, "https://example.com/");
    await becomes(domain, "/", 302, "https://www.example.com/");
    const released = await admin(stack, ["domains", "release", domain.toUpperCase()]);
    expect(released).toEqual({ domain, released: true });
    await becomes(domain, "/Page", 404);
    await becomes(domain, "/", 404);
    expect((await send(`/v1/domains/${id}`, "GET")).body).toMatchObject({ status: "pending" });
    expect((await send(`/v1/links/${link}`, "PATCH", { title: "x" })).status).toBe(200);
    await becomes(domain, "/Page", 404);
    await send(`/v1/domains/${id}/verify`, "POST");
    await becomes(domain, "/Page", 302, "https://example.com/");
    await becomes(domain, "/", 302, "https://www.example.com/");
    expect((await runAdmin(stack, ["domains", "release", "none.example.com"])).code).toBe(1);
  });
});
