/** Goal: a file of a backup is whole or not there, in a directory and in a bucket alike. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";

import { dirForFile, forFile } from "../../../test/harness/for-file.ts";
import { TestS3 } from "../../../test/harness/s3.ts";
import { deleteOldBackups } from "./backup.ts";
import { listBackups, nameOf, readBackup, writeManifest, writeProof } from "./manifest.ts";
import { Bucket, Directory, isPlace, readBytes, type Storage, verifyFile } from "./storage.ts";

const DAY_MS = 86_400_000;

async function* chunks(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield new TextEncoder().encode(text);
}

async function* failing(): AsyncGenerator<Uint8Array> {
  yield* chunks("begun");
  throw new Error("cut short");
}

const dir = dirForFile("shorthop-storage-");
const s3 = await forFile(TestS3.start());

const open = {
  directory: (name: string) => new Directory(join(dir, name)),
  bucket: (name: string) => new Bucket(`s3://links-images/${name}`, s3.place),
};

describe.each(["directory", "bucket"] as const)("a %s", (kind) => {
  test("returns what was written, and its hash", async () => {
    const storage = open[kind]("files");
    const file = await storage.write("one/a.txt", chunks("ab", "c"));
    expect(file).toEqual({
      name: "one/a.txt",
      bytes: 3,
      sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    });
    expect((await readBytes(storage, "one/a.txt", 3)).toString()).toBe("abc");
    expect(readBytes(storage, "one/a.txt", 2)).rejects.toThrow("too large");
    await verifyFile(storage, file);
    expect(verifyFile(storage, { ...file, sha256: "0".repeat(64) })).rejects.toThrow("is damaged");
    expect(await storage.list()).toEqual(["one/a.txt"]);
    await storage.remove("one/a.txt");
    expect(await storage.list()).toEqual([]);
    expect(readBytes(storage, "one/a.txt", 3)).rejects.toThrow();
  });

  test("has no part of a file whose content failed", async () => {
    const storage = open[kind]("failed");
    expect(storage.write("whole", failing())).rejects.toThrow("cut short");
    await Bun.sleep(0);
    expect(await storage.list()).toEqual([]);
  });

  test("deletes old backups, and neither the newest nor the newest that is proven", async () => {
    const storage = open[kind]("pruned");
    const now = Date.now();
    const names = [40, 30, 20, 3, 0.1].map((days) => nameOf(new Date(now - days * DAY_MS)));
    for (const [i, name] of names.entries()) await writeBackup(storage, name, i);
    const interrupted = nameOf(new Date(now - 5 * DAY_MS));
    await storage.write(`${interrupted}/postgres.dump`, chunks("x"));
    await storage.write(`clicks/202601_${interrupted}.tsv.gz`, chunks("x"));
    await writeProof(storage, names[1] ?? "");
    expect(await deleteOldBackups(storage, 14, now)).toBe(2);
    const kept = [names[1], names[3], names[4]];
    expect(listBackups(await storage.list())).toEqual(kept.map((name) => name ?? ""));
    expect((await storage.list()).filter((name) => name.startsWith("clicks/")).toSorted()).toEqual(
      kept.map((name) => `clicks/202601_${name}.tsv.gz`),
    );
    // Even if all are old, one is left to restore.
    expect(await deleteOldBackups(storage, 0, now + 100 * DAY_MS)).toBe(1);
    expect(listBackups(await storage.list())).toEqual([names[1] ?? "", names[4] ?? ""]);
    expect((await readBackup(storage)).name).toBe(names[4] ?? "");
  });
});

test("a place is an absolute path or a bucket", () => {
  expect(["/var/backups", "s3://bucket", "s3://bucket/a/b"].map(isPlace)).toEqual([
    true,
    true,
    true,
  ]);
  expect(["backups", "s3://", "https://bucket", ""].map(isPlace)).toEqual([
    false,
    false,
    false,
    false,
  ]);
});

async function writeBackup(storage: Storage, name: string, rows: number): Promise<void> {
  const [dump, clicks] = [
    await storage.write(`${name}/postgres.dump`, chunks("dump")),
    await storage.write(`clicks/202601_${name}.tsv.gz`, chunks("clicks")),
  ];
  const made_at = new Date().toISOString();
  await writeManifest(storage, name, {
    made_at,
    postgres: { file: dump, migration: 1, rows: { links: rows } },
    clicks: [{ month: 202_601, rows: 1, made_at, file: clicks }],
    rollups: [],
    failures: [],
    configuration: null,
  });
}
