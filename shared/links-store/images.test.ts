/**
 * Goal: an image is what was stored, or an error, wherever it is kept. Method: a directory, and a
 * real S3-compatible store.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import * as z from "zod";

import { startS3, type TestS3 } from "../../test/harness/s3.ts";
import { loadConfig } from "../env.ts";
import { type Images, type ImagesPlace, imageVariables, openImages } from "./images.ts";

/** More than one part of an upload, and hardly compressible. */
const BYTES = 12 * 1024 * 1024;

const POSITION = { epoch: 1_764_000_000_000_000, sequence: 12_345 };

const never = new AbortController().signal;

let s3: TestS3;
let dir: string;
beforeAll(async () => void (s3 = await startS3()), 60_000);
afterAll(async () => await s3[Symbol.asyncDispose]());
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), "shorthop-images-"))));
afterEach(() => rmSync(dir, { recursive: true }));

function open(place: ImagesPlace): Images {
  const images = openImages(place);
  if (images === undefined) throw new Error("There is no place.");
  return images;
}

/** Whether reading an image is an error. */
const fails = (reading: Promise<void>): Promise<boolean> =>
  reading.then(
    () => false,
    () => true,
  );

function writeRandom(name: string): { path: string; bytes: Buffer } {
  const path = join(dir, name);
  const bytes = Buffer.alloc(BYTES);
  for (let at = 0; at < BYTES; at += 65_536)
    crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  writeFileSync(path, bytes);
  return { path, bytes };
}

describe.each([
  ["a directory", () => ({ LINKS_IMAGES: join(dir, "images") })],
  ["an S3-compatible store", () => s3.place],
])("%s", (_name, place) => {
  test("gives back what was stored, the newest first, until it is removed", async () => {
    const images = open(place());
    expect(await images.list()).toEqual([]);
    const first = writeRandom("first");
    const second = writeRandom("second");
    const names = [await images.add(first.path, POSITION), await images.add(second.path, POSITION)];
    const listed = await images.list();
    expect(listed.map(({ name }) => name)).toEqual(names.toReversed());
    expect(listed[0]).toMatchObject(POSITION);
    expect(Math.abs(Date.now() - (listed[0]?.madeAt.getTime() ?? 0))).toBeLessThan(60_000);
    const copy = join(dir, "copy");
    await images.read(names[0] ?? "", copy, never);
    expect(readFileSync(copy).equals(first.bytes)).toBe(true);
    for (const name of names) await images.remove(name);
    expect(await images.list()).toEqual([]);
    expect(await fails(images.read(names[0] ?? "", copy, never))).toBe(true);
  });
});

test("an image of which a part is missing, or which was changed, is an error", async () => {
  const place = join(dir, "images");
  const images = open({ LINKS_IMAGES: place });
  const name = await images.add(writeRandom("whole").path, POSITION);
  const stored = join(place, name);
  const whole = readFileSync(stored);
  const middle = Math.floor(whole.length / 2);
  truncateSync(stored, middle);
  expect(await fails(images.read(name, join(dir, "copy"), never))).toBe(true);
  const changed = Buffer.from(whole);
  changed[middle] = (changed[middle] ?? 0) ^ 1;
  writeFileSync(stored, changed);
  expect(await fails(images.read(name, join(dir, "copy"), never))).toBe(true);
});

test("what is not whole, or of another format, is not listed", async () => {
  const place = join(dir, "images");
  const images = open({ LINKS_IMAGES: place });
  const name = await images.add(writeRandom("whole").path, POSITION);
  for (const other of [`${name}.part`, "shorthop-image-1", name.replace("links-2", "links-1")])
    writeFileSync(join(place, other), "");
  expect((await images.list()).map((image) => image.name)).toEqual([name]);
  expect(readdirSync(place)).toHaveLength(4);
});

test.each(["images", "s3://", "https://images.example.com/", "s3:bucket"])(
  "%s is no place for images",
  (place) => {
    const schema = z.object(imageVariables);
    expect(() => loadConfig(schema, { LINKS_IMAGES: place })).toThrow("LINKS_IMAGES");
  },
);
