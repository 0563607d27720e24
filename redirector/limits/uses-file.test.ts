import { beforeEach, expect, test } from "bun:test";
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  rmdirSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { newUuid } from "../../shared/ids.ts";
import { dirForEach } from "../../test/harness/for-file.ts";
import { UsesFile } from "./uses-file.ts";

const BOOT = newUuid();
const LIMIT = newUuid();

const dir = dirForEach("shorthop-uses-");
let path: string;
beforeEach(() => void (path = join(dir(), "click-limits")));

const fail = (what: unknown): never => {
  throw new Error(`The file should be usable: ${String(what)}`);
};

const open = (boot = BOOT) => new UsesFile(path, { unreadable: fail, unwritable: fail }, boot);

test("what was used, the redirector's id and the stream's position are there after a restart", () => {
  const first = open();
  const other = newUuid();
  first.write(other, { used: 7, state: "settled" });
  first.write(LIMIT, { used: 1, state: "open" });
  first.write(LIMIT, { used: 2, state: "open" });
  first.writePosition({ stream: other, sequence: 42 });
  // No close: the process was killed.
  const second = open();
  expect(second.holder).toBe(first.holder);
  expect([...second.loaded]).toEqual([
    [other, { used: 7, state: "settled" }],
    [LIMIT, { used: 2, state: "open" }],
  ]);
  expect(second.position).toEqual({ stream: other, sequence: 42 });
});

test("open leases are doubtful once the machine was started again, and stay so", () => {
  open().write(LIMIT, { used: 2, state: "open" });
  for (let i = 0; i < 2; i++) {
    expect(open("0190a5a2-0000-7000-8000-000000000009").loaded.get(LIMIT)).toEqual({
      used: 2,
      state: "doubtful",
    });
  }
});

test("a record that was being written is left out", () => {
  const file = open();
  file.write(LIMIT, { used: 2, state: "open" });
  file.write(LIMIT, { used: 3, state: "open" });
  truncateSync(path, statSync(path).size - 5);
  expect(open().loaded.get(LIMIT)?.used).toBe(2);
  appendFileSync(path, Buffer.alloc(32));
  expect(open().loaded.get(LIMIT)?.used).toBe(2);
});

test("a file that is none is kept, and this redirector becomes another one", () => {
  const { holder } = open();
  writeFileSync(path, "something else, ".repeat(10));
  let kept = "";
  const unreadable = (name: string) => void (kept = name);
  const next = new UsesFile(path, { unreadable, unwritable: fail }, BOOT);
  expect(next.holder).not.toBe(holder);
  expect(readdirSync(dir())).toContain(kept.slice(dir().length + 1));
});

test("written anew, it has one record of each limit", () => {
  const file = open();
  for (let used = 1; used <= 100; used++) file.write(LIMIT, { used, state: "open" });
  const before = file.size;
  file.compact(new Map([[LIMIT, { used: 100, state: "open" }]]));
  expect(file.size).toBeLessThan(before / 10);
  file.write(LIMIT, { used: 101, state: "open" });
  expect(open().loaded).toEqual(new Map([[LIMIT, { used: 101, state: "open" }]]));
});

test("without room on the disk nothing can be used, and as soon as there is some, what was there counts", () => {
  open().write(LIMIT, { used: 2, state: "settled" });
  // As a full disk does: the new file cannot be written.
  mkdirSync(`${path}.new`);
  const errors: unknown[] = [];
  const unwritable = (error: unknown) => void errors.push(error);
  const file = new UsesFile(path, { unreadable: fail, unwritable }, BOOT);
  expect(errors).toHaveLength(1);
  expect(file.loaded.get(LIMIT)?.used).toBe(2);
  expect(() => file.write(LIMIT, { used: 3, state: "open" })).toThrow();
  file.writePosition({ stream: LIMIT, sequence: 5 });
  rmdirSync(`${path}.new`);
  file.write(LIMIT, { used: 3, state: "open" });
  const next = open();
  expect(next.loaded.get(LIMIT)?.used).toBe(3);
  expect(next.position).toEqual({ stream: LIMIT, sequence: 5 });
});
