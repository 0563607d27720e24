/** Goal: of a backup's configuration, only files and folders come to a host, without more rights. */
import { expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import { dirForEach } from "../../../test/harness/for-file.ts";
import { packConfiguration, unpackConfiguration } from "./backup.ts";
import { Directory } from "./storage.ts";

const BLOCK = 512;

const dir = dirForEach("shorthop-configuration-");

const octal = (value: number, length: number) => value.toString(8).padStart(length, "0");

/** An entry of a tar archive without content, as the format ustar has it. */
function entryOf({ name = "api.env", mode = 0o600, type = "0", link = "" }): Buffer {
  const header = Buffer.alloc(BLOCK);
  header.write(name, 0);
  header.write(octal(mode, 7), 100);
  for (const at of [108, 116]) header.write(octal(0, 7), at);
  for (const at of [124, 136]) header.write(octal(0, 11), at);
  header.write(" ".repeat(8), 148);
  header.write(type, 156);
  header.write(link, 157);
  header.write("ustar\u000000", 257);
  for (const at of [329, 337]) header.write(octal(1, 7), at);
  header.write(
    `${octal(
      header.reduce((sum, byte) => sum + byte, 0),
      6,
    )}\u0000`,
    148,
  );
  return header;
}

/** Unpacks an archive with these entries after a plain one; returns what it made. */
async function unpack(...entries: Buffer[]): Promise<string[]> {
  const archive = gzipSync(
    Buffer.concat([entryOf({ name: "plain.env" }), ...entries, Buffer.alloc(2 * BLOCK)]),
  );
  const storage = new Directory(join(dir(), "backups"));
  const file = await storage.write(
    "configuration.tar.gz",
    (async function* () {
      yield archive;
    })(),
  );
  await unpackConfiguration(storage, file, join(dir(), "unpacked"));
  return readdirSync(join(dir(), "unpacked")).toSorted();
}

test("files and folders are unpacked", async () => {
  expect(await unpack(entryOf({}), entryOf({ name: "nats/", type: "5", mode: 0o750 }))).toEqual([
    "api.env",
    "nats",
    "plain.env",
  ]);
});

test.each([
  ["a setuid file", { mode: 0o4755 }],
  ["a setgid file", { mode: 0o2755 }],
  ["a setuid file that nobody may run", { mode: 0o4600 }],
  ["a sticky folder", { name: "nats/", type: "5", mode: 0o1777 }],
  ["a link out of the folder", { type: "2", link: "/etc/shadow" }],
  ["a link within the folder", { type: "2", link: "plain.env" }],
  ["a hard link", { type: "1", link: "plain.env" }],
  ["a character device", { type: "3" }],
  ["a block device", { type: "4" }],
  ["a pipe", { type: "6" }],
  ["a link whose name looks like a file's line", { name: "x\n-rw------- ", type: "2", link: "y" }],
])("with %s, nothing is unpacked", async (_, entry) => {
  const failure = await unpack(entryOf(entry)).catch(String);
  expect(failure).toContain("has more than files and folders");
  expect(existsSync(join(dir(), "unpacked"))).toBe(false);
});

test("links and special rights of a host's own configuration are packed as files without them", async () => {
  const from = join(dir(), "before");
  mkdirSync(join(from, "nats"), { recursive: true });
  writeFileSync(join(dir(), "fullchain.pem"), "certificate\n");
  symlinkSync(join(dir(), "fullchain.pem"), join(from, "cert.pem"));
  writeFileSync(join(from, "api.env"), "A=1\n", { mode: 0o640 });
  linkSync(join(from, "api.env"), join(from, "same.env"));
  chmodSync(join(from, "nats"), 0o2750);
  const storage = new Directory(join(dir(), "backups"));
  const to = join(dir(), "unpacked");
  await unpackConfiguration(storage, await packConfiguration(storage, "one", from), to);
  expect(readFileSync(join(to, "cert.pem"), "utf8")).toBe("certificate\n");
  expect(readFileSync(join(to, "same.env"), "utf8")).toBe("A=1\n");
  expect(lstatSync(join(to, "same.env")).mode & 0o7777).toBe(0o640);
  expect(lstatSync(join(to, "nats")).mode & 0o7777).toBe(0o750);
});
