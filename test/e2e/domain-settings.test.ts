/**
 * Goal: a domain's settings are what its visitors get on every redirector, and only its own account
 * changes them.
 */
import { expect, test } from "bun:test";

import { admin, runAdmin } from "../harness/admin.ts";
import { type ApiResponse, callOnce, codeOf } from "../harness/api.ts";
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

/** Follows a path of a domain on each redirector; returns status and destination of each. */
const follow = (host: string, path: string) =>
  Promise.all(
    [stack.info().short_url, second.url].map(async (origin) => {
      const response = await callOnce(`${origin}${path}`, { headers: { host } });
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

/** Links of a domain, of which only the first follows its status. */
const LINKS = [
  { alias: "plain" },
  { alias: "own", redirect_status: 307 },
  { alias: "hidden", disabled: true },
];

const APPLE = "/.well-known/apple-app-site-association";
const ANDROID = "/.well-known/assetlinks.json";

test("settings are what visitors of the domain get, until they are removed, and others do not", async () => {
  const [{ domain, id }, other] = [await addDomain(), await addDomain()];
  const expires_at = new Date(Date.now() + 1_000).toISOString();
  for (const link of [...LINKS, { alias: "over", expires_at }]) await create({ domain, ...link });
  const usual: [string, number, string?][] = [
    ["/", 404],
    ["/nothing", 404],
    ["/hidden", 404],
    ["/over", 410],
    [APPLE, 404],
    [ANDROID, 404],
    ["/plain", 302, "https://example.com/"],
    ["/own", 307, "https://example.com/"],
  ];
  for (const answer of usual) await becomes(domain, ...answer);
  const settings = {
    root_url: "https://www.example.com/",
    not_found_url: "https://www.example.com/not-found",
    expired_url: "https://www.example.com/over",
    redirect_status: 301,
    apple_app_site_association: { applinks: { details: [{ appIDs: ["A.com.example"] }] } },
    assetlinks: [{ relation: ["delegate_permission/common.handle_all_urls"], n: "</ü>" }],
  };
  expect(await change(id, settings)).toMatchObject(settings);
  expect((await send(`/v1/domains/${id}`, "GET")).body).toMatchObject(settings);
  for (const [path, status, location] of [
    ["/", 302, settings.root_url],
    ["/nothing", 302, settings.not_found_url],
    ["/a/b", 302, settings.not_found_url],
    ["/hidden", 302, settings.not_found_url],
    ["/over", 302, settings.expired_url],
    ["/plain", 301, "https://example.com/"],
    ["/own", 307, "https://example.com/"],
    ["/.well-known/change-password", 404, null],
  ] as const)
    await becomes(domain, path, status, location);
  for (const [path, content] of [
    [APPLE, settings.apple_app_site_association],
    [ANDROID, settings.assetlinks],
  ] as const)
    for (const origin of [stack.info().short_url, second.url]) {
      const { status, headers, body } = await callOnce(`${origin}${path}`, {
        headers: { host: domain },
      });
      expect([status, headers.get("content-type"), body]).toEqual([
        200,
        "application/json",
        content,
      ]);
    }
  for (const host of ["localhost", other.domain])
    for (const path of ["/nothing", APPLE]) await becomes(host, path, 404);
  const cleared = await change(
    id,
    Object.fromEntries(Object.keys(settings).map((name) => [name, null])),
  );
  for (const name of Object.keys(settings)) expect(cleared).not.toHaveProperty(name);
  for (const answer of usual) await becomes(domain, ...answer);
});

test("settings that lead in a loop, or are more than they may be, are refused, and change nothing", async () => {
  const [{ id, domain }, other] = [await addDomain(), await addDomain()];
  const text = "x".repeat(16 * 1024 - '{"a":""}'.length);
  await change(id, { apple_app_site_association: { a: text }, assetlinks: [text] });
  const before = (await send(`/v1/domains/${id}`, "GET")).body;
  const urls = [
    `https://${domain}/x`,
    `http://${other.domain.toUpperCase()}.:8080/`,
    `http://${new URL(stack.info().short_url).host}/`,
    "ftp://example.com/",
    "//example.com/",
    "javascript:alert(1)",
    "nonsense",
  ];
  const fields = ["root_url", "not_found_url", "expired_url"];
  for (const [code, name, value] of [
    ...fields.flatMap((field) => urls.map((url) => ["invalid_url", field, url] as const)),
    ["invalid_request", "root_url", 5],
    ["invalid_request", "root", "https://example.com/"],
    ["invalid_request", "redirect_status", 303],
    ["invalid_request", "apple_app_site_association", { a: `${text}x` }],
    ["invalid_request", "apple_app_site_association", []],
    ["invalid_request", "assetlinks", [`${text}1234567890`]],
    ["invalid_request", "assetlinks", {}],
  ] as const) {
    const response = await patch(id, { [name]: value });
    expect([name, value, ...codeOf(response)]).toEqual([name, value, 400, code]);
    expect(JSON.stringify(response.body)).toContain(name);
  }
  expect((await send(`/v1/domains/${id}`, "GET")).body).toEqual(before);
});

/** Waits until a domain has switched. */
const switched = (id: string) =>
  eventually(
    async () =>
      expect((await send(`/v1/domains/${id}`, "GET")).body).not.toHaveProperty("switching"),
    30_000,
  );

test("a domain without case keeps aliases as they were typed, finds them in any case, and has each once", async () => {
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

longTest("a domain switches with its links, which redirect all the while, and back", async () => {
  const { domain, id } = await addDomain();
  const aliases = Array.from({ length: 150 }, (_, i) => `Alias-${i}-X`);
  for (const part of [aliases.slice(0, 75), aliases.slice(75)]) {
    const rows = part.map((alias) => ({ url: "https://example.com/", domain, alias }));
    expect((await send("/v1/links/bulk", "POST", { links: rows })).status).toBe(200);
  }
  const probes = aliases.filter((_, i) => i % 15 === 0);
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
    const [status, location] = case_sensitive ? [404, null] : [302, "https://example.com/"];
    await becomes(domain, "/alias-1-x", status, location);
  }
  switching = false;
  await watching;
  expect(failures).toEqual([]);
  await create({ domain, alias: "alias-0-x", url: "https://example.com/lower" });
  await becomes(domain, "/alias-0-x", 302, "https://example.com/lower");
  await becomes(domain, "/Alias-0-X", 302, "https://example.com/");
});

test("a domain that changes hands by an operator's release: its links stop, and redirect again for who proves it again", async () => {
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
