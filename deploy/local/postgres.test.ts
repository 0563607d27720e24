import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { canReach } from "./postgres.ts";

test("a folder is reachable only if the user may traverse every folder above it", () => {
  const top = mkdtempSync(join(tmpdir(), "shorthop-reach-"));
  const inner = join(top, "a", "b");
  mkdirSync(inner, { recursive: true });
  const otherUser = { uid: 12_345, gid: 12_345 };
  expect(canReach(inner, otherUser)).toBe(false);
  chmodSync(top, 0o711);
  expect(canReach(inner, otherUser)).toBe(true);
  chmodSync(join(top, "a"), 0o700);
  expect(canReach(inner, otherUser)).toBe(false);
  const { uid, gid } = statSync(top);
  expect(canReach(inner, { uid, gid })).toBe(true);
  rmSync(top, { recursive: true });
});
