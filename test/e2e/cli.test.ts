/**
 * Goal: the command line and the tools for assistants do on a real stack what their page says, on
 * the Node that users have.
 */
import { describe, expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as z from "zod";

import { buildCli, BUILT } from "../../clients/cli/build.ts";
import { findFreePort } from "../../deploy/local/ports.ts";
import { createAccount, createKey } from "../harness/admin.ts";
import { CHROME } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { dirForFile, forFile } from "../harness/for-file.ts";
import { useStack } from "../harness/stack.ts";
import { WebhookReceiver } from "../harness/webhook-receiver.ts";

const NODE = Bun.which("node") ?? "node";

/** What the plan `free` allows in bulk at once. */
const FREE_LINKS = 500;

const stack = await forFile(useStack());
await buildCli();
const { id: account, key } = await createAccount(stack, "enterprise");
const home = dirForFile("shorthop-cli-");

type Run = { code: number; out: string; err: string };

/** Runs the command line with a home of its own; signed in by variables unless they are given. */
async function run(words: string[], input = "", env?: Record<string, string>): Promise<Run> {
  const child = Bun.spawn([NODE, BUILT, ...words], {
    env: { PATH: process.env["PATH"] ?? "", HOME: home, ...(env ?? login()) },
    stdin: Buffer.from(input),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, out, err };
}

const login = () => ({ SHORTHOP_URL: stack.info().api_url, SHORTHOP_KEY: key });

const linkSchema = z.looseObject({
  id: z.string(),
  short_url: z.string(),
  title: z.string().nullable(),
});

const shorten = async (url: string): Promise<z.output<typeof linkSchema>> =>
  linkSchema.parse(JSON.parse((await run(["shorten", url, "--json"])).out));

describe("signing in", () => {
  test("stores a key that works for its owner alone, and sends it to no other URL", async () => {
    const url = stack.info().api_url;
    expect((await run(["login", url], `sk_live_wrong\n`, {})).code).toBe(3);
    expect((await run(["stats"], "", {})).code).toBe(3);
    expect((await run(["login", `${url}/`], `${key}\n`, {})).code).toBe(0);
    const file = join(home, ".config/shorthop/login.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await run(["stats"], "", {})).code).toBe(0);
    const elsewhere = await run(["stats"], "", { SHORTHOP_URL: "http://127.0.0.1:9" });
    expect([elsewhere.code, elsewhere.err]).toEqual([3, expect.stringContaining("Not signed in")]);
    expect((await run(["logout"], "", {})).code).toBe(0);
    expect((await run(["stats"], "", {})).code).toBe(3);
  });
});

describe("links", () => {
  test("are shortened one by one, with a QR code in a file", async () => {
    const file = join(home, "code.svg");
    const alias = `cli-${crypto.randomUUID()}`;
    const words = [
      "shorten",
      "https://example.com/a",
      "--alias",
      alias,
      "--tag",
      "x",
      "--qr",
      file,
    ];
    const { code, out } = await run(words);
    expect([code, out]).toEqual([0, `${stack.info().short_url}/${alias}\n`]);
    expect(readFileSync(file, "utf8")).toStartWith("<svg");
    const taken = await run(words);
    expect([taken.code, taken.out]).toEqual([1, ""]);
    expect(taken.err).toContain("alias");
  });

  test("are shortened from a pipe of a thousand lines, of which some are refused", async () => {
    const urls = Array.from({ length: 1_000 }, (_, i) =>
      i % 100 === 7 ? "no URL" : `https://example.com/${i}`,
    );
    const { code, out } = await run(["shorten", "--json", "--tag", "piped"], urls.join("\n"));
    const lines = out
      .trim()
      .split("\n")
      .map((line) => Object.keys(JSON.parse(line)));
    expect([code, lines.length, lines.filter((names) => names.includes("error")).length]).toEqual([
      1, 1_000, 10,
    ]);
    const listed = await run(["links", "list", "--tag", "piped", "--limit", "0"]);
    expect(listed.out.trim().split("\n")).toHaveLength(990);
  });

  test("are shortened from a pipe until a limit is reached, which is said with the time to wait", async () => {
    const { key: free } = await createAccount(stack, "free");
    const env = { ...login(), SHORTHOP_KEY: free };
    const urls = Array.from({ length: 1_000 }, (_, i) => `https://example.com/${i}`);
    const { code, out, err } = await run(["shorten", "--json"], urls.join("\n"), env);
    const created = out
      .trim()
      .split("\n")
      .map((line) => linkSchema.parse(JSON.parse(line)));
    // What the budget regains meanwhile lets another batch begin.
    expect([code, created.length >= FREE_LINKS, created.length < urls.length]).toEqual([
      1,
      true,
      true,
    ]);
    expect(err).toContain(`Stopped after ${created.length} URLs.`);
    expect(err).toMatch(/Try again in \d+ /);
  });

  test("are found by id, alias and short URL, changed, opened and deleted", async () => {
    const { id, short_url } = await shorten("https://example.com/found");
    for (const given of [id, short_url, short_url.split("/").at(-1) ?? ""]) {
      const { out } = await run(["links", "get", given, "--json"]);
      expect(linkSchema.parse(JSON.parse(out)).id).toBe(id);
    }
    await run(["links", "edit", id, "--title", "T", "--tag", "a", "--tag", "b"]);
    const cleared = await run(["links", "edit", id, "--title", "", "--json"]);
    expect(linkSchema.parse(JSON.parse(cleared.out)).title).toBeNull();
    expect((await run(["links", "open", id])).out).toBe("https://example.com/found\n");
    expect((await run(["links", "rm", id], "n\n")).code).toBe(1);
    expect((await run(["links", "rm", id, "--yes"])).code).toBe(0);
    expect((await run(["links", "get", id])).code).toBe(1);
  });

  test("are created from a CSV file, which can be checked first", async () => {
    const file = join(home, "links.csv");
    writeFileSync(file, 'URL,title,tags\nhttps://example.com/1,"A, B",x;y\nnone,,\n');
    const checked = await run(["links", "import", file, "--check"]);
    expect([checked.code, checked.err]).toEqual([1, expect.stringContaining("Right: 1 of 2.")]);
    const { code, out, err } = await run(["links", "import", file]);
    expect([code, out]).toEqual([
      1,
      expect.stringMatching(/^http\S+\thttps:\/\/example\.com\/1\n$/),
    ]);
    expect(err).toContain("line 3: ");
  });

  test("of another service are created from its export, with a report of every row, and are taken back", async () => {
    const file = join(home, "bitly.csv");
    const rows = [
      "Link,Custom Link,Title,Destination URL,Engagements,Status",
      "https://bit.ly/3xYz,https://bit.ly/cli-sale,Sale,https://example.com/sale,7,Active",
      "https://bit.ly/cli-old,,,https://example.com/old,0,Archived",
      "https://bit.ly/cli-gone,,,https://example.com/gone,0,Deleted",
    ];
    writeFileSync(file, rows.join("\n"));
    const { code, out } = await run(["links", "import", file, "--json"]);
    const report = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect([code, report]).toEqual([
      1,
      [
        { row: 2, link: expect.objectContaining({ alias: "cli-sale", title: "Sale" }) },
        { row: 3, link: expect.objectContaining({ alias: "cli-old", archived: true }) },
        { row: 4, error: { message: "The other service has deleted the link." } },
      ],
    ]);
    const corrected = await run(["links", "import", file, "--check", "--columns", "Custom Link=-"]);
    expect(corrected.err).toContain("Right: 1 of 3.");
    const ids = report.flatMap(({ link }) => link?.id ?? []);
    expect((await run(["links", "rm", "--yes", ...ids])).err).toContain("Deleted 2.");
  });
});

describe("exit codes", () => {
  test.each<[number, string[]]>([
    [0, ["--help"]],
    [0, ["--version"]],
    [0, ["links", "list"]],
    [1, ["links", "get", "no-such-alias"]],
    [1, ["shorten", "no URL"]],
    [1, ["links", "import", "no-such-file.csv"]],
    [2, []],
    [2, ["unknown"]],
    [2, ["links", "list", "--unknown"]],
    [2, ["stats", "--period", "1y"]],
    [2, ["shorten", "https://example.com/", "--qr", "code.gif"]],
  ])("%i: shorthop %p", async (expected, words) => {
    const { code, out, err } = await run(words);
    expect(code).toBe(expected);
    // What went wrong is a sentence, and never among the results.
    expect(err === "").toBe(expected === 0);
    if (expected !== 0) expect(out).toBe("");
    expect(err).not.toContain("    at ");
  });

  test("3 for a key that does not work", async () => {
    const env = { ...login(), SHORTHOP_KEY: `${key.slice(0, -1)}_` };
    expect((await run(["links", "list"], "", env)).code).toBe(3);
  });

  test("0 where the reader has seen enough", async () => {
    const words = ["sh", "-c", `{ ${NODE} ${BUILT} --help; echo $? >&2; } | true`];
    const child = Bun.spawn(words, { stdout: "ignore", stderr: "pipe" });
    expect(await new Response(child.stderr).text()).toBe("0\n");
  });
});

describe("clicks", () => {
  test("are shown by day and dimension, and exported", async () => {
    const { id, short_url } = await shorten("https://example.com/clicked");
    for (let i = 0; i < 3; i++)
      await fetch(short_url, { redirect: "manual", headers: { "user-agent": CHROME } });
    await eventually(async () => {
      expect((await run(["stats", id, "--period", "24h"])).err).toContain("3 clicks");
    }, 20_000);
    expect((await run(["stats", id, "--by", "browser"])).out).toStartWith("Chrome\t3\t100");
    expect((await run(["stats", "--by", "link"])).out).toContain(short_url);
    const exported = await run(["export", id, "--period", "24h"]);
    expect(exported.out.trim().split("\n")).toHaveLength(3);
  });
});

test("events are printed and posted to a program of this machine", async () => {
  await using receiver = new WebhookReceiver();
  const words = ["listen", "--type", "link.created", "--to", receiver.url];
  const listening = Bun.spawn([NODE, BUILT, ...words], {
    env: { PATH: process.env["PATH"] ?? "", HOME: home, ...login() },
    stdout: "ignore",
    stderr: "ignore",
  });
  await eventually(async () => {
    await shorten("https://example.com/event");
    expect(receiver.got[0]?.body).toContain('"link.created"');
  }, 30_000);
  listening.kill();
  await listening.exited;
});

const contentSchema = z.object({ content: z.tuple([z.object({ text: z.string() })]) });

async function connect(options: string[]): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  const env = { PATH: process.env["PATH"] ?? "", HOME: home, ...login() };
  const command = {
    command: NODE,
    args: [BUILT, "mcp", ...options],
    env,
    stderr: "ignore" as const,
  };
  await client.connect(new StdioClientTransport(command));
  return client;
}

async function call(client: Client, name: string, given: Record<string, unknown>) {
  const result = await client.callTool({ name, arguments: given });
  const { content } = contentSchema.parse(result);
  return { isError: result.isError === true, text: content[0].text };
}

describe("the tools for assistants", () => {
  test("only read unless writing is allowed, and say which of them destroy something", async () => {
    const reading = await connect([]);
    const { tools } = await reading.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "find_links",
      "get_link",
      "explain_link",
      "get_clicks",
      "break_down_clicks",
    ]);
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true);
    const refused = await call(reading, "create_link", { url: "https://example.com/" });
    expect(refused.isError).toBe(true);
    await reading.close();

    const writing = await connect(["--write"]);
    const all = (await writing.listTools()).tools;
    const destroys = all.filter(({ annotations }) => annotations?.destructiveHint === true);
    expect(destroys.map(({ name }) => name)).toEqual(["update_link", "delete_link"]);
    await writing.close();
  });

  test("each does what it says", async () => {
    const client = await connect(["--write"]);
    const created = await call(client, "create_link", {
      url: "https://example.com/mcp",
      tags: ["mcp"],
    });
    const { id, short_url } = linkSchema.parse(JSON.parse(created.text));
    const rows: [string, Record<string, unknown>, RegExp][] = [
      ["find_links", { tag: "mcp" }, new RegExp(id)],
      ["get_link", { link: short_url }, /"forward_query"/],
      ["explain_link", { link: id, country: "DE" }, /"target"/],
      ["get_clicks", { link: id }, /"total_clicks":0/],
      ["get_clicks", { period: "7d", timezone: "Asia/Tokyo" }, /"clicks_over_time"/],
      ["break_down_clicks", { by: "country" }, /"data"/],
      ["break_down_clicks", { link: id, by: "country,device", limit: 5 }, /"data"/],
      ["update_link", { link: id, title: "M" }, /"title":"M"/],
      ["delete_link", { link: id }, /./],
    ];
    for (const [name, given, expected] of rows) {
      const result = await call(client, name, given);
      expect([name, result.isError, result.text]).toEqual([
        name,
        false,
        expect.stringMatching(expected),
      ]);
    }
    await client.close();
  });

  test("refuse arguments that they do not take, with a bounded answer", async () => {
    const client = await connect(["--write"]);
    const rows: [string, Record<string, unknown>][] = [
      ["get_link", { link: "../../v1/keys" }],
      ["get_link", { link: "x".repeat(10_000) }],
      ["get_link", {}],
      ["find_links", { limit: 1e9 }],
      ["break_down_clicks", { by: "password" }],
      ["create_link", { url: "javascript:alert(1)" }],
      ["create_link", { url: "https://example.com/", tags: Array.from({ length: 1_000 }, String) }],
      ["update_link", { link: "link_00000000000000000000000000" }],
    ];
    for (const [name, given] of rows) {
      const { isError, text } = await call(client, name, given);
      expect([name, isError, text.length < 2_000]).toEqual([name, true, true]);
    }
    await client.close();
  });

  test("are served over HTTP to callers with keys of their own", async () => {
    const port = findFreePort();
    const server = Bun.spawn([NODE, BUILT, "mcp", "--http", String(port)], {
      env: { PATH: process.env["PATH"] ?? "", HOME: home, SHORTHOP_URL: stack.info().api_url },
      stdout: "ignore",
      stderr: "ignore",
    });
    const url = new URL(`http://127.0.0.1:${port}/`);
    const post = (headers: Record<string, string>, body: string) =>
      fetch(url, { method: "POST", headers, body });
    await eventually(async () => expect((await fetch(url)).status).toBe(405));
    const authorization = `Bearer ${key}`;
    expect((await post({}, "{}")).status).toBe(401);
    expect((await post({ authorization, origin: "https://evil.example" }, "{}")).status).toBe(403);
    expect((await post({ authorization }, "{")).status).toBe(400);
    expect((await post({ authorization }, " ".repeat(300_000))).status).toBe(413);

    const { key: readOnly } = await createKey(stack, account, "links:read");
    const client = new Client({ name: "test", version: "1" });
    await client.connect(
      new StreamableHTTPClientTransport(url, {
        requestInit: { headers: { authorization: `Bearer ${readOnly}` } },
      }),
    );
    expect((await call(client, "find_links", {})).isError).toBe(false);
    const { isError, text } = await call(client, "get_clicks", {});
    expect([isError, text]).toEqual([true, expect.stringContaining("forbidden")]);
    await client.close();
    server.kill();
    await server.exited;
  });
});
