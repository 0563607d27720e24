/**
 * Goal: the command line as users install it, packed by npm, in a home with nothing else: the first
 * lines of its page and of that of assistants do what they say, as they stand there.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import * as z from "zod";

import { buildCli } from "../../clients/cli/build.ts";
import { createAccount } from "../harness/admin.ts";
import { readFirstLines, run } from "../harness/packed-client.ts";
import { PROJECT_DIR, type Stack, startStack } from "../harness/stack.ts";

let stack: Stack;
let key: string;
let home: string;
let env: Record<string, string>;

beforeAll(async () => {
  [stack] = await Promise.all([startStack({ empty: true }), buildCli()]);
  ({ key } = await createAccount(stack, "enterprise"));
  home = mkdtempSync(join(tmpdir(), "shorthop-cli-"));
  // With the package installed, `npx` asks no registry.
  env = { HOME: home, PATH: process.env["PATH"] ?? "", npm_config_offline: "true" };
  const cli = join(PROJECT_DIR, "clients/cli");
  run(["npm", "pack", "--silent", "--pack-destination", home], cli);
  const packed = readdirSync(home).filter((name) => name.endsWith(".tgz"));
  run(["npm", "install", "--no-audit", "--no-fund", ...packed], home);
}, 180_000);
afterAll(async () => {
  await stack[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
});

/** In the configuration of an assistant. */
const configurationSchema = z.object({
  mcpServers: z.object({
    shorthop: z.object({ command: z.string(), args: z.array(z.string()) }),
  }),
});

test("three lines sign in, shorten a URL and show its clicks, and three make it an assistant's tool", async () => {
  const lines = readFirstLines("clients/cli/README.md", stack.info().api_url);
  const child = Bun.spawn(["sh", "-e", "-c", lines], {
    cwd: home,
    env,
    stdin: Buffer.from(`${key}\n`),
    stdout: "pipe",
    stderr: "pipe",
  });
  const output = await new Response(child.stdout).text();
  expect([await child.exited, await new Response(child.stderr).text()]).toEqual([
    0,
    expect.stringContaining("Signed in"),
  ]);
  const [shortUrl = "", day = ""] = output.split("\n");
  expect(day).toMatch(/^\d{4}-\d{2}-\d{2}\t\d+\t\d+$/);
  const { headers } = await fetch(shortUrl, { redirect: "manual" });
  expect(headers.get("location")).toBe("https://example.com/spring/sale");

  const { mcpServers } = configurationSchema.parse(
    JSON.parse(readFirstLines("docs/assistants.md")),
  );
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StdioClientTransport({ ...mcpServers.shorthop, env, cwd: home }));
  const found = await client.callTool({ name: "find_links", arguments: {} });
  expect(JSON.stringify(found)).toContain(shortUrl);
  await client.close();
}, 120_000);
