import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { canReach } from "./postgres-place.ts";

test("a folder is reachable only if every folder above it lets the user pass", () => {
  const top = mkdtempSync(join(tmpdir(), "shorthop-reach-"));
  const inner = join(top, "a", "b");
  mkdirSync(inner, { recursive: true });
  const stranger = { uid: 12_345, gid: 12_345 };
  expect(canReach(inner, stranger)).toBe(false);
  chmodSync(top, 0o711);
  expect(canReach(inner, stranger)).toBe(true);
  chmodSync(join(top, "a"), 0o700);
  expect(canReach(inner, stranger)).toBe(false);
  const { uid, gid } = statSync(top);
  expect(canReach(inner, { uid, gid })).toBe(true);
  rmSync(top, { recursive: true });
});
