/**
 * Goal: the client that the API serves is installed by npm, and the programs in its README run with
 * it as they stand, on the smallest account. A site in place of the redirector and the worker
 * stores a click of each link that is opened.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { packClient } from "../../deploy/pack-client.ts";
import { CLIENT_FILE } from "../../shared/contracts/client-file.ts";
import { createAccount, type NewAccount } from "../harness/admin.ts";
import { type Click, insertClicks } from "../harness/analytics-reference.ts";
import { ApiInProcess } from "../harness/api-in-process.ts";
import { call } from "../harness/api.ts";
import { readPrograms } from "../harness/packed-client.ts";

const CLICK: Omit<Click, "at"> = {
  link: 0,
  class: "human",
  visitor: 1,
  place: ["DE", "BE", "Berlin", "Berlin"],
  browser: "Chrome",
  os: "Windows",
  device: "desktop",
  referrer: "direct",
  referrer_path: "",
  language: "de",
  host: "",
  utm_source: "",
  utm_medium: "",
  utm_campaign: "",
};

let stack: ApiInProcess;
let account: NewAccount;
let site: Bun.Server<undefined>;
let dir: string;

beforeAll(async () => {
  // A click is stored before the response, however long a busy machine takes.
  site = Bun.serve({ port: 0, idleTimeout: 0, fetch: openLink });
  const env = { SHORT_URL: site.url.origin };
  stack = await ApiInProcess.start({ clickhouse: true, env });
  account = await createAccount(stack, "free");
  dir = mkdtempSync(join(tmpdir(), "shorthop-client-package-"));
  await packClient(join(stack.dataDir, "dashboard", CLIENT_FILE));
  for (const [name, program] of readPrograms()) writeFileSync(join(dir, name), program);
}, 120_000);
afterAll(async () => {
  await stack[Symbol.asyncDispose]();
  await site.stop(true);
  rmSync(dir, { recursive: true, force: true });
});

async function openLink(request: Request): Promise<Response> {
  const alias = new URL(request.url).pathname.slice(1);
  const [link] = await stack.database.sql<{ id: string }[]>`
    select id from links where alias = ${alias}`;
  if (link === undefined) return new Response(null, { status: 404 });
  await insertClicks(stack, account.id, [link.id], [{ ...CLICK, at: Date.now() }]);
  return new Response(null, { status: 302, headers: { location: "https://example.com/" } });
}

/** Runs a program; returns the lines that it prints. The API answers in this process meanwhile. */
async function run(command: string[], env: Record<string, string> = {}): Promise<string[]> {
  const child = Bun.spawn(command, {
    cwd: dir,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")}: ${output}${errors}`);
  return output.trim().split("\n");
}

test("npm installs the client from the API, whose programs then run", async () => {
  const { api_url } = stack.info();
  const { headers } = await call(`${api_url}/${CLIENT_FILE}`);
  expect(headers.get("content-type")).toBe("application/gzip");
  await run(["npm", "install", "--silent", "--no-audit", "--no-fund", `${api_url}/${CLIENT_FILE}`]);
  const lines = new Map<string, string[]>();
  for (const name of readPrograms().keys())
    lines.set(
      name,
      await run(["node", name], { SHORTHOP_URL: api_url, SHORTHOP_KEY: account.key }),
    );
  expect([...lines.keys()]).toEqual(["first-link.mjs", "first-hour.mjs"]);
  expect(lines.get("first-hour.mjs")).toContain("imported 120");
  expect(lines.get("first-hour.mjs")?.at(-1)).toBe("done");
  expect(readFileSync(join(dir, "days.csv"), "utf8")).toStartWith("date,clicks,unique");
}, 180_000);
