/**
 * Goal: an operator learns of a full disk of PostgreSQL as soon as a request meets it, and no
 * longer than it is true.
 */
import { expect, test } from "bun:test";

import { FullDisk } from "./context.ts";

test("a request that meets a full disk is remembered for a minute, other failures are not", () => {
  let now = 0;
  const disk = new FullDisk(() => now);
  disk.record(new Error("something else"));
  expect(disk.problem()).toBeUndefined();
  disk.record(Object.assign(new Error("could not extend file"), { code: "53100" }));
  now = 59_000;
  expect(disk.problem()).toContain("disk is full");
  now = 61_000;
  expect(disk.problem()).toBeUndefined();
});
