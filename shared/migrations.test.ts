import { expect, test } from "bun:test";

import { checksumOf, pendingMigrations } from "./migrations.ts";

const first = { id: 1, name: "first", text: "create" };
const second = { id: 2, name: "second", text: "alter" };
const applied = { id: 1, checksum: checksumOf(first) };

test("only migrations that are not applied are pending, in order", () => {
  expect(pendingMigrations([first, second], [])).toEqual([first, second]);
  expect(pendingMigrations([first, second], [applied])).toEqual([second]);
});

test("a migration that changed after it was applied is an error", () => {
  expect(() => pendingMigrations([{ ...first, text: "other" }], [applied])).toThrow("first");
});
