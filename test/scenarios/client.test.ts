/**
 * Goal: the client as users install it works on every runtime, and a newcomer's first program does
 * what it says.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type * as ClientModule from "../../clients/typescript/src/index.ts";
import { createAccount, createKey } from "../harness/admin.ts";
import { chromiumPath, openBrowser } from "../harness/browser.ts";
import {
  CLIENT_DIR,
  FIRST_HOUR,
  installClient,
  readPrograms,
  run,
} from "../harness/packed-client.ts";
import { type Stack, startStack } from "../harness/stack.ts";

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

/** A site of another origin than the API, whose pages may call it. */
let site: Bun.Server<undefined>;
let stack: Stack;
let env: { SHORTHOP_URL: string; SHORTHOP_KEY: string };
let dir: string;

beforeAll(async () => {
  site = Bun.serve({
    port: 0,
    fetch: () => new Response("<!doctype html>", { headers: { "content-type": "text/html" } }),
  });
  stack = await startStack({ env: { API_CORS_ORIGINS: site.url.origin } });
  const { id } = await createAccount(stack, "free");
  const { key } = await createKey(stack, id, SCOPES, { type: "test" });
  env = { SHORTHOP_URL: stack.info().api_url, SHORTHOP_KEY: key };
  ({ dir } = await installClient());
});
afterAll(async () => {
  await stack[Symbol.asyncDispose]();
  await site.stop(true);
  rmSync(dir, { recursive: true, force: true });
});

describe("the program in the client's README", () => {
  test("has at most 60 lines", () => {
    const lines = readPrograms()
      .get(FIRST_HOUR)
      ?.split("\n")
      .filter((line) => line.trim() !== "");
    expect(lines?.length).toBeLessThanOrEqual(60);
  });

  test.each(["node", process.execPath])(
    "does a newcomer's first hour on %s",
    (runtime) => {
      const lines = run([runtime, FIRST_HOUR], dir, env).trim().split("\n");
      expect(lines.length).toBe(LINES.length);
      for (const [i, line] of lines.entries()) expect(line).toMatch(LINES[i] ?? /^$/);
      expect(readFileSync(join(dir, "sale.svg"), "utf8")).toStartWith("<svg");
      expect(readFileSync(join(dir, "days.csv"), "utf8")).toStartWith("date,clicks,unique");
    },
    180_000,
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
    120_000,
  );
});
