/**
 * Goal: what an operator takes down redirects nobody, on any redirector, until the operator lifts
 * it.
 */
import { describe, expect, test } from "bun:test";

import { admin } from "../harness/admin.ts";
import { callOnce } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { type Json, OwnLinks } from "../harness/own-links.ts";
import { startRedirector } from "../harness/processes.ts";
import { useStack } from "../harness/stack.ts";

const stack = await forFile(useStack());
const second = await forFile(startRedirector(stack));
const links = await OwnLinks.start(stack);

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

const statusOf = async (id: string, owner = links) => (await owner.read(id))["status"];

describe("a link taken down by its alias", () => {
  test("answers 451 on every redirector, cached or not, and nothing is counted; lifted, it redirects", async () => {
    const rules = [{ url: "https://example.com/b", conditions: [{ type: "query", name: "a" }] }];
    const [cached, uncached] = [
      await links.create(),
      await links.create({ password: "secret", rules }),
    ];
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
      const explained = await links.send(`/v1/links/${id}/explain`, "POST", {});
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
});

describe("an account taken down", () => {
  test("none of its links redirects, those made later included; others' do", async () => {
    const other = await OwnLinks.start(stack);
    const [early, own] = [await other.create(), await links.create()];
    await becomes(early.alias, 302);
    await becomes(own.alias, 302);
    await disable("--account", other.id);
    await becomes(early.alias, 451);
    const late = await other.create();
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
      await links.create({ url: "https://evil.example/" }),
      await links.create({ url: "http://www.EVIL.example:81/x" }),
      await links.create({ rules: [rule] }),
      await links.create({ split: { arms: [{ url: "https://evil.example/", weight: 1 }] } }),
      await links.create({ expired_url: "https://evil.example/over" }),
    ];
    const up = [
      await links.create({ url: "https://notevil.example/" }),
      await links.create({ url: "https://example.com/?to=https://evil.example/" }),
    ];
    for (const { alias } of [...down, ...up]) await becomes(alias, 302);
    await disable("--host", "Evil.example");
    for (const { alias } of down) await becomes(alias, 451);
    for (const { alias } of up) expect(await statuses(alias)).toEqual([302, 302]);
    // The owner moves a link away from the host, and back.
    const [first] = down;
    const path = `/v1/links/${first?.id}`;
    await links.send(path, "PATCH", { url: "https://example.com/" });
    await becomes(first?.alias ?? "", 302);
    await links.send(path, "PATCH", { url: "https://a.evil.example/" });
    await becomes(first?.alias ?? "", 451);
    await enable("--host", "evil.example");
    for (const { alias } of down) await becomes(alias, 302);
  });
});

test("a redirector that starts knows what is taken down", async () => {
  const owner = await OwnLinks.start(stack);
  const [single, whole] = [await links.create(), await owner.create()];
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
