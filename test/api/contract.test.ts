/**
 * Goal: what the API's document promised at 1.0 holds in every later version of /v1, by the rules of
 * docs/stability.md.
 */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

import * as z from "zod";

import { findBreaks, readContract } from "./contract.ts";

/** The document of 1.0, as `bun run openapi | gzip -9n` wrote it. */
const RELEASED = join(import.meta.dir, "openapi-1.0.json.gz");

const readReleased = async (): Promise<unknown> =>
  JSON.parse(new TextDecoder().decode(gunzipSync(await Bun.file(RELEASED).bytes())));

/** A part of a document that a test changes, so it must not be a copy. */
const part = z.custom<Record<string, unknown>>((value) => typeof value === "object");

const list = z.custom<unknown[]>(Array.isArray);

/** Returns the object at the path of keys in a document. */
function at(document: unknown, ...keys: string[]): Record<string, unknown> {
  let found = part.parse(document);
  for (const key of keys) found = part.parse(found[key]);
  return found;
}

test("the document breaks nothing of 1.0's", async () => {
  const printed = Bun.spawn([process.execPath, "api/print-openapi.ts"], {
    cwd: join(import.meta.dir, "../.."),
  });
  const now: unknown = await new Response(printed.stdout).json();
  expect(findBreaks(readContract(await readReleased()), readContract(now))).toEqual([]);
});

type Change = (document: unknown) => void;

const schema = (document: unknown, ...keys: string[]) =>
  at(document, "components", "schemas", ...keys);

const BREAKING: readonly [name: string, change: Change, named: string][] = [
  ["an operation is gone", (d) => delete at(d, "paths", "/v1/links")["post"], "POST /v1/links"],
  [
    "a field is no longer accepted",
    (d) => delete schema(d, "NewLink", "properties")["alias"],
    "accepted NewLink.alias",
  ],
  [
    "a field must be sent",
    (d) => (schema(d, "NewLink")["required"] = ["url", "alias"]),
    "accepted NewLink requires alias",
  ],
  [
    "a text may be less long",
    (d) => (schema(d, "NewLink", "properties", "alias")["maxLength"] = 63),
    "changed from 64 to 63: accepted NewLink.alias maxLength",
  ],
  [
    "a field gets a bound",
    (d) => (schema(d, "NewLink", "properties", "url")["minLength"] = 20),
    "new: accepted NewLink.url minLength",
  ],
  [
    "null is no longer accepted",
    (d) => (schema(d, "NewLink", "properties", "alias")["type"] = "string"),
    "gone: accepted NewLink.alias may be null",
  ],
  [
    "a field is no longer returned",
    (d) => delete schema(d, "Link", "properties")["clicks"],
    "gone: returned Link.clicks",
  ],
  [
    "a field is not always returned",
    (d) => (schema(d, "Link")["required"] = ["id"]),
    "gone: returned Link requires alias",
  ],
  [
    "a field is returned as null",
    (d) => (schema(d, "Link", "properties", "id")["type"] = ["string", "null"]),
    "new: returned Link.id may be null",
  ],
  [
    "success has another status",
    (d) => {
      const responses = at(d, "paths", "/v1/links", "post", "responses");
      responses["200"] = responses["201"];
      delete responses["201"];
    },
    "gone: returned POST /v1/links 201",
  ],
];

test.each(BREAKING)("a break is named: %s", async (_name, change, named) => {
  const document = await readReleased();
  const before = readContract(document);
  change(document);
  expect(findBreaks(before, readContract(document)).join("\n")).toContain(named);
});

const ALLOWED: readonly [name: string, change: Change][] = [
  [
    "a new operation",
    (d) => (at(d, "paths")["/v1/new"] = structuredClone(at(d, "paths", "/v1/links"))),
  ],
  [
    "a new optional parameter",
    (d) =>
      list
        .parse(at(d, "paths", "/v1/links", "get")["parameters"])
        .push({ name: "color", in: "query", schema: { type: "string" } }),
  ],
  [
    "a new optional field that is accepted",
    (d) => (schema(d, "NewLink", "properties")["color"] = { type: "string", maxLength: 7 }),
  ],
  [
    "a new field that is returned",
    (d) => (schema(d, "Link", "properties")["color"] = { type: "string" }),
  ],
  [
    "a new value of an enumeration that is returned",
    (d) => list.parse(schema(d, "Link", "properties", "status")["enum"]).push("paused"),
  ],
  [
    "a new error",
    (d) => (at(d, "paths", "/v1/links", "post", "responses")["418"] = { description: "New" }),
  ],
  [
    "a longer text is accepted",
    (d) => (schema(d, "NewLink", "properties", "alias")["maxLength"] = 65),
  ],
  ["a field need not be sent any more", (d) => delete schema(d, "NewLink")["required"]],
];

test.each([
  ["What may change within /v1", ALLOWED.map(([name]) => name)],
  ["What does not change within /v1", BREAKING.map(([name]) => name)],
])("the page about stability lists, under %s, what is compared here", async (title, names) => {
  const page = await Bun.file(join(import.meta.dir, "../../docs/stability.md")).text();
  const [, section = ""] = page.split(`\n## ${title}\n`);
  const [lines = ""] = section.split("\n## ");
  expect(Array.from(lines.matchAll(/^- (.+)$/gm), ([, item]) => item)).toEqual(names);
});

test.each(ALLOWED)("%s breaks nothing", async (_name, change) => {
  const document = await readReleased();
  const before = readContract(document);
  change(document);
  expect(findBreaks(before, readContract(document))).toEqual([]);
});
