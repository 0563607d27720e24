/**
 * Goal: the paths that a link forwards lead where its account wants: on the service's own domain no
 * other account has an alias beneath it, whoever comes first, and at whatever moment.
 */
import { expect, test } from "bun:test";

import { newUuid, type Uuid } from "../../shared/ids.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { outcomeOf } from "../../test/harness/outcomes.ts";
import { anyVersion, startPostgres } from "../../test/harness/postgres.ts";
import type { Writer } from "../http/principal.ts";
import type { CreateLinkBody } from "./model.ts";

const url = "https://example.com/";
const forwards = { forward_path: "append" as const };

const postgres = await forFile(startPostgres());
const [one, other] = [await postgres.addWriter(), await postgres.addWriter()];
const ofTest: Writer = { ...one, mode: "test" };

const ids = new Map<string, Uuid>();

function create(owner: Writer, alias: string, more: Partial<CreateLinkBody> = {}) {
  const id = newUuid();
  ids.set(alias, id);
  return outcomeOf(postgres.links.create(owner, id, { url, alias, ...more }), "created");
}

const change = (owner: Writer, alias: string, body: object) =>
  outcomeOf(postgres.links.update(owner, ids.get(alias), body, anyVersion), "changed");

test("beneath a link that forwards its path only its account has aliases", async () => {
  expect(await create(one, "acme", forwards)).toBe("created");
  for (const [owner, alias, outcome] of [
    [other, "acme/login", "alias_taken"],
    [other, "acme/a/b", "alias_taken"],
    [one, "acme/login", "created"],
    [ofTest, "acme/test", "created"],
    [other, "acme-2/login", "created"],
    [other, "acme.2", "created"],
    [other, "acme0", "created"],
    [other, "of/acme", "created"],
    [other, "Acme/login", "created"],
  ] as const)
    expect([alias, await create(owner, alias)]).toEqual([alias, outcome]);
  expect(await create(other, "elsewhere")).toBe("created");
  expect(await change(other, "elsewhere", { alias: "acme/elsewhere" })).toBe("alias_taken");
  expect(await change(one, "acme", { forward_path: null })).toBe("changed");
  expect(await change(other, "elsewhere", { alias: "acme/elsewhere" })).toBe("changed");
  expect(await change(one, "acme", forwards)).toBe("alias_taken");
  expect(await change(one, "acme", { title: "without its paths" })).toBe("changed");
  expect(await change(other, "elsewhere", { alias: "elsewhere" })).toBe("changed");
  expect(await change(one, "acme", forwards)).toBe("changed");
  expect(await change(one, "acme/login", { title: "its own" })).toBe("changed");
});

test("no link takes over paths that others have", async () => {
  expect(await create(other, "docs-of/other")).toBe("created");
  expect(await create(one, "docs-of", forwards)).toBe("alias_taken");
  expect(await create(one, "docs-of")).toBe("created");
  expect(await change(one, "docs-of", forwards)).toBe("alias_taken");
  expect(await create(one, "free-alias", forwards)).toBe("created");
  expect(await change(one, "free-alias", { alias: "Docs-of" })).toBe("changed");
});

test("of many links the others are created", async () => {
  expect(await create(one, "bulk", forwards)).toBe("created");
  const links = ["bulk/x", "bulk-x", "bulk/y"].map((alias) => ({ url, alias }));
  const { results } = await postgres.links.createMany(other, newUuid(), links);
  expect(results.map((result) => "link" in result)).toEqual([false, true, false]);
});

test("of two accounts that come at once one has the path", async () => {
  for (let i = 0; i < 20; i++) {
    const outcomes = await Promise.all([
      create(one, `race-${i}`, forwards),
      create(other, `race-${i}/x`),
    ]);
    expect(outcomes.toSorted()).toEqual(["alias_taken", "created"]);
  }
});
