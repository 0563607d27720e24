/**
 * Goal: `shorthop import` reads real APIs as it reads those of its own tests. Method: an account of
 * a stack is read by `/v1` and by the API of Shlink that a stack has, and imported into itself:
 * every link is there already, and gets its visits once more.
 */
import { expect, test } from "bun:test";

import * as z from "zod";

import { createAccount, runAdmin } from "../harness/admin.ts";
import { call, CHROME } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { useStack } from "../harness/stack.ts";

const COUNTED_MS = 20_000;

const MARK = crypto.randomUUID().slice(0, 8);
const PLAIN = `plain-${MARK}`;

/** Links with settings of each kind. */
const LINKS = [
  { alias: PLAIN, title: "Plain", tags: ["a"], utm_source: "mail", notes: "Printed." },
  {
    alias: `rules-${MARK}`,
    rules: [{ url: "https://example.com/ios", conditions: [{ type: "os", in: ["iOS"] }] }],
    max_clicks: 5,
    starts_at: "2020-01-01T00:00:00Z",
  },
  { alias: `archived-${MARK}`, archived: true, expires_at: "2035-01-01T00:00:00Z" },
  // The API of a local stack takes it.
  { alias: `private-${MARK}`, url: "http://127.0.0.1:9/" },
];

const stack = await forFile(useStack());
const account = await createAccount(stack, "enterprise");
for (const link of LINKS) {
  const body = { url: "https://example.com/", ...link };
  const created = await call(`${stack.info().api_url}/v1/links`, {
    method: "POST",
    key: account.key,
    body,
  });
  expect(created.status).toBe(201);
}
for (let i = 0; i < 2; i++)
  await fetch(`${stack.info().short_url}/${PLAIN}`, {
    redirect: "manual",
    headers: { "user-agent": CHROME },
  });

const listed = z.object({ data: z.array(z.unknown()) });

// In both places: Shlink's API names the clicks that a link's counter has.
await eventually(async () => {
  expect(await countClicks()).toBe(2);
  const url = `${stack.info().api_url}/v1/links/lookup?alias=${PLAIN}`;
  expect((await call(url, { key: account.key })).body).toMatchObject({ clicks: 2 });
}, COUNTED_MS);

async function countClicks(): Promise<number> {
  const url = `${stack.info().api_url}/v1/clicks?limit=100`;
  return listed.parse((await call(url, { key: account.key })).body).data.length;
}

async function importInto(source: string, ...args: string[]): Promise<unknown> {
  const command = ["import", source, stack.info().api_url, "--account", account.id, "--json"];
  const { code, stdout, stderr } = await runAdmin(stack, [...command, ...args], {
    SOURCE_PASSWORD: account.key,
  });
  expect(stderr).toBe("");
  expect(code).toBe(0);
  expect(stdout).not.toContain(account.key);
  return JSON.parse(stdout);
}

test("another installation: links are the same, and clicks come once more", async () => {
  const counts = { created: 0, same: LINKS.length, taken: 0, refused: 0 };
  expect(await importInto("shorthop", "--dry-run")).toEqual({ dry_run: true, ...counts });
  const before = await countClicks();
  const done = { ...counts, state: "done", visits: before, left_out: 0 };
  expect(await importInto("shorthop")).toMatchObject(done);
  expect(await countClicks()).toBe(2 * before);
  // What has been imported is not imported again, and a check says so.
  expect(await importInto("shorthop")).toMatchObject(done);
  const checked = await importInto("shorthop", "--dry-run");
  expect(checked).toMatchObject({ dry_run: true, ...done });
  expect(await countClicks()).toBe(2 * before);
});

test("Shlink: links are the same, and visits come once more", async () => {
  const before = await countClicks();
  // The API of Shlink lists no archived links.
  const counts = { created: 0, same: LINKS.length - 1, taken: 0, refused: 0 };
  expect(await importInto("shlink")).toMatchObject({ ...counts, visits: before, left_out: 0 });
  expect(await countClicks()).toBe(2 * before);
});
