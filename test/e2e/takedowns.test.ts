/**
 * Goal: what an operator takes down redirects nobody, on any redirector, until the operator lifts
 * it.
 */
import { describe, expect, test } from "bun:test";

import * as z from "zod";

import { admin, createAccount, type NewAccount, runAdmin, UNLIMITED } from "../harness/admin.ts";
import { call, callOnce } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { startRedirector } from "../harness/processes.ts";
import { useStack } from "../harness/stack.ts";

const stack = await forFile(useStack());
const second = await forFile(startRedirector(stack), (second) => second.stop());
const account = await createAccount(stack, "enterprise", UNLIMITED);

const linkSchema = z.looseObject({ id: z.string(), alias: z.string() });

type Json = Record<string, unknown>;

const send = (path: string, method: string, body?: Json, { key } = account, origin?: string) =>
  call(`${origin ?? stack.info().api_url}${path}`, {
    key,
    method,
    ...(body === undefined ? {} : { body }),
  });

async function create(body: Json = {}, owner = account) {
  const response = await send("/v1/links", "POST", { url: "https://example.com/", ...body }, owner);
  expect([response.status, response.body]).toEqual([201, expect.anything()]);
  return linkSchema.parse(response.body);
}

/** Statuses that a link has on each redirector. */
const statuses = (alias: string, options: Parameters<typeof callOnce>[1] = {}) =>
  Promise.all(
    [stack.info().short_url, second.url].map(
      async (origin) => (await callOnce(`${origin}/${alias}`, options)).status,
    ),
  );

/** Waits until all redirectors respond with a status. */
const becomes = (alias: string, status: number) =>
  eventually(async () => expect(await statuses(alias)).toEqual([status, status]));

const disable = (...args: string[]) => admin<Json>(stack, ["links", "disable", ...args]);
const enable = (...args: string[]) => admin<Json>(stack, ["links", "enable", ...args]);

const statusOf = async (id: string, owner = account) =>
  linkSchema.parse((await send(`/v1/links/${id}`, "GET", undefined, owner)).body)["status"];

describe("a link taken down by its alias", () => {
  test("answers 451 on every redirector, cached or not, and nothing is counted; lifted, it redirects", async () => {
    const rules = [{ url: "https://example.com/b", conditions: [{ type: "query", name: "a" }] }];
    const [cached, uncached] = [await create(), await create({ password: "secret", rules })];
    await becomes(cached.alias, 302);
    for (const { alias } of [cached, uncached])
      expect(await disable("--alias", alias)).toEqual({
        alias,
        domain: null,
        disabled: true,
        published: true,
      });
    for (const { alias, id } of [cached, uncached]) {
      await becomes(alias, 451);
      expect(await statuses(alias, { method: "HEAD" })).toEqual([451, 451]);
      expect(await statusOf(id)).toBe("taken_down");
      const explained = await send(`/v1/links/${id}/explain`, "POST", {});
      expect(explained.body).toMatchObject({ status: "taken_down", target: null });
    }
    const page = await callOnce(`${stack.info().short_url}/${cached.alias}`);
    expect(String(page.body)).toContain("taken this link down");
    expect(page.headers.get("cache-control")).toContain("no-store");
    expect(page.headers.get("location")).toBeNull();
    expect(await enable("--alias", cached.alias)).toMatchObject({ disabled: false });
    await becomes(cached.alias, 302);
    expect(await statusOf(cached.id)).toBe("active");
    expect(await statuses(uncached.alias)).toEqual([451, 451]);
  });

  test("must exist", async () => {
    for (const args of [
      ["--alias", "no-such-alias"],
      ["--account", "acct_01k9z3v6x7e8w9r0t1y2n3h4m5"],
      ["--alias", "a", "--host", "example.com"],
      ["--domain", "go.example.com", "--host", "example.com"],
      ["--host", "example.com/path"],
      [],
    ]) {
      const { code, stderr } = await runAdmin(stack, ["links", "disable", ...args]);
      expect([args, code === 0, stderr === ""]).toEqual([args, false, false]);
    }
    expect((await runAdmin(stack, ["links", "enable", "--host", "never.example"])).code).toBe(1);
  });
});

describe("an account taken down", () => {
  test("none of its links redirects, those made later included; others' do", async () => {
    const other = await createAccount(stack, "enterprise", UNLIMITED);
    const [early, own] = [await create({}, other), await create()];
    await becomes(early.alias, 302);
    await becomes(own.alias, 302);
    await disable("--account", other.id);
    await becomes(early.alias, 451);
    const late = await create({}, other);
    await becomes(late.alias, 451);
    expect(await statuses(own.alias)).toEqual([302, 302]);
    expect(await statusOf(own.id)).toBe("active");
    await eventually(async () => expect(await statusOf(late.id, other)).toBe("taken_down"));
    const listed = await admin<Json[]>(stack, ["links", "disabled"]);
    expect(listed).toContainEqual({ account: other.id, since: expect.any(String) });
    await enable("--account", other.id);
    await becomes(early.alias, 302);
    await becomes(late.alias, 302);
  });
});

describe("a host taken down", () => {
  test("no link leads to it, to a name below it, or by one of its rules; other hosts stay", async () => {
    const rule = {
      url: "https://evil.example/rule",
      conditions: [{ type: "query", name: "never" }],
    };
    const down = [
      await create({ url: "https://evil.example/" }),
      await create({ url: "http://www.EVIL.example:81/x" }),
      await create({ rules: [rule] }),
      await create({ split: { arms: [{ url: "https://evil.example/", weight: 1 }] } }),
      await create({ expired_url: "https://evil.example/over" }),
    ];
    const up = [
      await create({ url: "https://notevil.example/" }),
      await create({ url: "https://example.com/?to=https://evil.example/" }),
    ];
    for (const { alias } of [...down, ...up]) await becomes(alias, 302);
    await disable("--host", "Evil.example");
    for (const { alias } of down) await becomes(alias, 451);
    for (const { alias } of up) expect(await statuses(alias)).toEqual([302, 302]);
    // The owner moves a link away from the host, and back.
    const [first] = down;
    const path = `/v1/links/${first?.id}`;
    await send(path, "PATCH", { url: "https://example.com/" });
    await becomes(first?.alias ?? "", 302);
    await send(path, "PATCH", { url: "https://a.evil.example/" });
    await becomes(first?.alias ?? "", 451);
    await enable("--host", "evil.example");
    for (const { alias } of down) await becomes(alias, 302);
  });
});

test("a redirector that starts knows what is taken down", async () => {
  const owner = await createAccount(stack, "enterprise", UNLIMITED);
  const [single, whole] = [await create(), await create({}, owner)];
  await disable("--account", owner.id);
  await disable("--alias", single.alias);
  await using third = await startRedirector(stack);
  for (const { alias } of [single, whole])
    expect((await callOnce(`${third.url}/${alias}`)).status).toBe(451);
  await enable("--account", owner.id);
  await eventually(async () =>
    expect((await callOnce(`${third.url}/${whole.alias}`)).status).toBe(302),
  );
});

/** Aliases and total of a list. */
const list = async (query: string, owner: NewAccount) => {
  const { body } = await send(`/v1/links?${query}`, "GET", undefined, owner);
  const { data, pagination } = z
    .object({
      data: z.array(linkSchema),
      pagination: z.object({ total: z.int() }).optional(),
    })
    .parse(body);
  return [data.map(({ alias }) => alias).toSorted(), pagination?.total];
};

describe("archived links", () => {
  test("redirect, and lists leave them out unless asked", async () => {
    const owner = await createAccount(stack, "enterprise", UNLIMITED);
    const [a, b, c] = [
      await create({ alias: "arch-a" }, owner),
      await create({ alias: "arch-b", tags: ["t"], archived: true }, owner),
      await create({ alias: "arch-c", tags: ["t"] }, owner),
    ];
    const path = `/v1/links/${c.id}`;
    expect((await send(path, "PATCH", { archived: true }, owner)).body).toMatchObject({
      archived: true,
    });
    for (const { alias } of [a, b, c]) await becomes(alias, 302);
    for (const order of ["sort=created_at", "sort=clicks", "sort=created_at&order=asc"]) {
      expect(await list(order, owner)).toEqual([["arch-a"], 1]);
      expect(await list(`${order}&archived=false`, owner)).toEqual([["arch-a"], 1]);
      expect(await list(`${order}&archived=true`, owner)).toEqual([["arch-b", "arch-c"], 2]);
      expect(await list(`${order}&archived=any`, owner)).toEqual([
        ["arch-a", "arch-b", "arch-c"],
        3,
      ]);
      expect(await list(`${order}&tag=t`, owner)).toEqual([[], 0]);
      expect((await list(`${order}&starting_after=`, owner))[0]).toEqual(["arch-a"]);
    }
    const found = await send("/v1/links/lookup?alias=arch-b", "GET", undefined, owner);
    expect(found.body).toMatchObject({ id: b.id, archived: true });
    const changed = await send(path, "PATCH", { archived: false }, owner);
    expect(Object.keys(changed.body as Json)).not.toContain("archived");
    expect(await list("", owner)).toEqual([["arch-a", "arch-c"], 2]);
    await send(`/v1/links/${b.id}`, "DELETE", undefined, owner);
    expect(await list("", owner)).toEqual([["arch-a", "arch-c"], 2]);
    expect(await list("archived=any", owner)).toEqual([["arch-a", "arch-c"], 2]);
    const bulk = { links: [{ id: a.id, archived: true }] };
    expect((await send("/v1/links/bulk", "PATCH", bulk, owner)).status).toBe(200);
    expect(await list("", owner)).toEqual([["arch-c"], 1]);
    expect((await send("/v1/links?archived=maybe", "GET", undefined, owner)).status).toBe(400);
  });
});
