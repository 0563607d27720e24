/**
 * Goal: the client as users install it works on every runtime, and what the READMEs tell newcomers
 * to run does what they say, as it stands there: on a stack from nothing, with the keys that its
 * start prints, and on the smallest account, also beyond its limits.
 */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import * as z from "zod";

import type * as ClientModule from "../../clients/typescript/src/index.ts";
import { createClient } from "../../clients/typescript/src/index.ts";
import { CLIENT_FILE } from "../../shared/version.ts";
import { createAccount, createKey } from "../harness/admin.ts";
import { chromiumPath, openBrowser } from "../harness/browser.ts";
import { eventually } from "../harness/eventually.ts";
import { dirForFile, forFile } from "../harness/for-file.ts";
import {
  CLIENT_DIR,
  FIRST_HOUR,
  FIRST_LINK,
  readCommands,
  readPrograms,
  run,
} from "../harness/packed-client.ts";
import { startStack } from "../harness/stack.ts";

const SCOPES = "links:read,links:write,links:delete,analytics:read";

const LINES = [
  /^created http\S+\/\S+$/,
  /^refused 400 invalid_url url - .+$/,
  /^changed Sale, extended$/,
  /^imported 120$/,
  /^failed 120 invalid_url$/,
  /^found 120$/,
  /^clicked human \w+$/,
  /^clicks true$/,
  /^left true$/,
  /^done$/,
];

/** A program runs to its end within this time, on a busy machine too. */
const PROGRAM_MS = 180_000;

const { calls, install } = readCommands();

const dir = dirForFile("shorthop-client-");
/** A site of another origin than the API, whose pages may call it. */
const site = await forFile(
  Bun.serve({
    port: 0,
    fetch: () => new Response("<!doctype html>", { headers: { "content-type": "text/html" } }),
  }),
);
const stack = await forFile(
  startStack({ empty: true, env: { API_CORS_ORIGINS: site.url.origin } }),
);

/** A text of the README with the addresses of this stack. */
const here = (text: string): string =>
  text
    .replaceAll("http://localhost:3000", stack.info().api_url)
    .replaceAll("http://localhost:8080", stack.info().short_url);

/** The start prints them when all is ready. */
const readPrintedKeys = () =>
  eventually(async () => {
    const [, live = "", test = ""] =
      /Live key\s+(sk_live_\S+)\s+Test key\s+(sk_test_\S+)/.exec(stack.output()) ?? [];
    expect([live, test]).not.toContain("");
    return { live, test };
  });

/** The keys that the start prints, by their names. */
const printed = await readPrintedKeys();

/** The stack packs the client after its start, and until then says when to ask again. */
const waitForClient = () =>
  eventually(async () => {
    const { status, headers } = await fetch(`${stack.info().api_url}/${CLIENT_FILE}`);
    if (status === 503) expect(headers.get("retry-after")).not.toBeNull();
    expect([status, headers.get("content-type")]).toEqual([200, "application/gzip"]);
  }, 120_000);

const { id } = await createAccount(stack, "free");
const { key } = await createKey(stack, id, SCOPES, { type: "test" });
const env = { SHORTHOP_URL: stack.info().api_url, SHORTHOP_KEY: key };
for (const [name, program] of readPrograms()) writeFileSync(join(dir, name), program);
await waitForClient();
// No registry is asked for advice: the client depends on nothing.
run(["sh", "-c", here(install)], dir, { npm_config_audit: "false", npm_config_fund: "false" });

function expectFirstHour(output: string): void {
  const lines = output.trim().split("\n");
  expect(lines.length).toBe(LINES.length);
  for (const [i, line] of lines.entries()) expect(line).toMatch(LINES[i] ?? /^$/);
  expect(readFileSync(join(dir, "sale.svg"), "utf8")).toStartWith("<svg");
  expect(readFileSync(join(dir, "days.csv"), "utf8")).toStartWith("date,clicks,unique");
}

test(
  "the commands in the README's quick start work one after another, with the printed key",
  () => {
    const variables = { KEY: printed.live };
    const [create = "", follow = "", count = ""] = calls.map(here);
    expect(calls).toHaveLength(3);
    const link = z
      .object({ id: z.string(), short_url: z.string() })
      .parse(JSON.parse(run(["sh", "-c", create], dir, variables)));
    expect(link.short_url).toBe(`${stack.info().short_url}/hello`);
    const response = run(["sh", "-c", follow], dir, variables);
    expect(response).toMatch(/^HTTP\S+ 302 /);
    expect(response).toMatch(/^location: https:\/\/example\.com\/hello\r?$/im);
    const figures = run(["sh", "-c", count], dir, { ...variables, LINK_ID: link.id });
    expect(JSON.parse(figures)).toMatchObject({ summary: { total_clicks: expect.any(Number) } });
  },
  PROGRAM_MS,
);

describe("the programs in the client's README", () => {
  test("are two; the second has at most 60 lines", () => {
    expect([...readPrograms().keys()]).toEqual([FIRST_LINK, FIRST_HOUR]);
    const lines = readPrograms()
      .get(FIRST_HOUR)
      ?.split("\n")
      .filter((line) => line.trim() !== "");
    expect(lines?.length).toBeLessThanOrEqual(60);
  });

  test.each(["live", "test"] as const)(
    "run one after another with the printed key for %s",
    (mode) => {
      const variables = { ...env, SHORTHOP_KEY: printed[mode] };
      expect(run(["node", FIRST_LINK], dir, variables)).toMatch(/^http\S+\/\S+\n$/);
      expectFirstHour(run(["node", FIRST_HOUR], dir, variables));
    },
    PROGRAM_MS,
  );

  test.each(["node", process.execPath])(
    "run one after another on the smallest account, on %s",
    (runtime) => {
      expect(run([runtime, FIRST_LINK], dir, env)).toMatch(/^http\S+\/\S+\n$/);
      expectFirstHour(run([runtime, FIRST_HOUR], dir, env));
    },
    PROGRAM_MS,
  );

  test(
    "say when to try again on an account that has used up what it may create",
    async () => {
      const baseUrl = stack.info().api_url;
      const [one, bulk] = [
        await createAccount(stack, "free", { quotas: { links_per_day: 1 } }),
        await createAccount(stack, "free"),
      ];
      const first = () => run(["node", FIRST_LINK], dir, { ...env, SHORTHOP_KEY: one.key });
      first();
      expect(first).toThrow(/Quota links_per_day exceeded: 1 links in .+ Try again in \d+ /);
      const urls = Array.from({ length: 500 }, (_, i) => ({ url: `https://example.com/${i}` }));
      await createClient({ baseUrl, apiKey: bulk.key }).links.createMany(urls);
      const hour = () => run(["node", FIRST_HOUR], dir, { ...env, SHORTHOP_KEY: bulk.key });
      expect(hour).toThrow(/too many links created in bulk \(bulk_rows: .+ Try again in \d+ /);
    },
    PROGRAM_MS,
  );
});

describe("the packed client", () => {
  test("is required by CommonJS, with the same exports", () => {
    writeFileSync(
      join(dir, "exports.cjs"),
      `const required = Object.keys(require("@shorthop/client")).sort();
       import("@shorthop/client").then((module) =>
         console.log(JSON.stringify([required, Object.keys(module).sort()])));`,
    );
    const [required, imported] = JSON.parse(run(["node", "exports.cjs"], dir)) as string[][];
    expect(required).toEqual(imported);
    expect(required).toContain("createClient");
  });

  test("has its licence, README and changelog, and no test", () => {
    const packed = join(dir, "node_modules/@shorthop/client");
    for (const name of ["LICENSE", "README.md", "CHANGELOG.md"])
      expect([name, existsSync(join(packed, name))]).toEqual([name, true]);
    expect([...new Bun.Glob("**/*.test.*").scanSync(packed)]).toEqual([]);
    const root = readFileSync(join(CLIENT_DIR, "../../LICENSE"), "utf8");
    expect(readFileSync(join(packed, "LICENSE"), "utf8")).toBe(root);
  });

  test.skipIf(chromiumPath === undefined)(
    "works in a browser, on a page of another origin that is allowed",
    async () => {
      const entry = join(dir, "node_modules/@shorthop/client/dist/esm/index.js");
      const { outputs } = await Bun.build({ entrypoints: [entry], target: "browser" });
      const code = await outputs[0]?.text();
      await using browser = await openBrowser();
      const page = await browser.newPage();
      await page.goto(site.url.href);
      const result = await page.evaluate(
        async ({ code, env }) => {
          const source = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
          const module: typeof ClientModule = await import(source);
          const { links, analytics } = module.createClient({
            baseUrl: env.SHORTHOP_URL,
            apiKey: env.SHORTHOP_KEY,
          });
          const link = await links.create({ url: "https://example.com/browser" });
          const found = [];
          for await (const { id } of links.all({ search: "/browser" })) found.push(id === link.id);
          const qr = await links.qr(link.id);
          const { summary } = await analytics.summary(link.id);
          const error = await links.get("none").catch((reason: unknown) => reason);
          const offline = await module
            .createClient({ baseUrl: "http://127.0.0.1:9", retriesMax: 0 })
            .limits()
            .catch((reason: unknown) => reason);
          const codes = [error, offline].map((reason) =>
            reason instanceof module.ShorthopError ? reason.code : "another error",
          );
          return { found, type: qr.type, clicks: summary.total_clicks, codes };
        },
        { code: code ?? "", env },
      );
      expect(result).toEqual({
        found: [true],
        type: "image/svg+xml",
        clicks: 0,
        codes: ["not_found", "network"],
      });
    },
  );
});
