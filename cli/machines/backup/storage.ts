/** Where backups are kept: a directory, or a folder of an S3-compatible store. */
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, existsSync, readdirSync } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

import { bucketOf, type S3Settings } from "../../../shared/s3.ts";
import { unfinishedNameOf } from "../owned-files.ts";

/** Bytes of a part of an upload; S3 allows 10,000 parts, which are 160 GB. */
const PART_BYTES = 16 * 1024 ** 2;

/** Parts that are uploaded at once. */
const PARTS_AT_ONCE = 2;

const UPLOAD_ATTEMPTS = 3;

/** What is written, in parts of any size. */
export type Content = AsyncIterable<Uint8Array>;

/** A file of a backup, by its name in the storage. */
export type StoredFile = { name: string; bytes: number; sha256: string };

export type Storage = {
  /** The directory or URL, for messages. */
  place: string;
  /** The names of all files. */
  list(): Promise<string[]>;
  /** Writes a file, which has its name only when it is whole. */
  write(name: string, content: Content): Promise<StoredFile>;
  /** Reads a file; throws when it does not exist. */
  read(name: string): Readable;
  remove(name: string): Promise<void>;
};

/** Whether a text is a place of backups: an absolute path, or `s3://bucket/prefix`. */
export const isPlace = (text: string): boolean =>
  text.startsWith("/") || /^s3:\/\/[^/]+/.test(text);

export const openStorage = (place: string, settings: S3Settings): Storage =>
  place.startsWith("/") ? openDirectory(place) : openS3(place, settings);

function openDirectory(dir: string): Storage {
  return {
    place: dir,
    list: () =>
      Promise.resolve(
        existsSync(dir)
          ? readdirSync(dir, { recursive: true, withFileTypes: true })
              .filter((entry) => entry.isFile())
              .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1))
          : [],
      ),
    async write(name, content) {
      const path = join(dir, name);
      const unfinished = unfinishedNameOf(path);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const digest = createDigest();
      try {
        const file = createWriteStream(unfinished, { flags: "wx", mode: 0o600 });
        await pipeline(digest.pass(content), file);
        await sync(unfinished);
        await rename(unfinished, path);
        // Else the machine may lose the name of a file whose content it has.
        await sync(dirname(path));
      } finally {
        await rm(unfinished, { force: true });
      }
      return { name, ...digest.result() };
    },
    read: (name) => createReadStream(join(dir, name)),
    remove: (name) => rm(join(dir, name), { force: true }),
  };
}

/** Has the disk store a file or a folder. */
async function sync(path: string): Promise<void> {
  const handle = await open(path);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function openS3(place: string, settings: S3Settings): Storage {
  const { client, prefix } = bucketOf(new URL(place), settings);
  return {
    place,
    async list() {
      const names: string[] = [];
      for (let token: string | undefined; ;) {
        const options = token === undefined ? {} : { continuationToken: token };
        const page = await client.list({ prefix, ...options });
        names.push(...(page.contents ?? []).map(({ key }) => key.slice(prefix.length)));
        token = page.nextContinuationToken;
        if (page.isTruncated !== true || token === undefined) return names;
      }
    },
    async write(name, content) {
      const writer = client.file(`${prefix}${name}`).writer({
        partSize: PART_BYTES,
        queueSize: PARTS_AT_ONCE,
        retry: UPLOAD_ATTEMPTS,
      });
      const digest = createDigest();
      let pending = 0;
      for await (const chunk of digest.pass(content)) {
        void writer.write(chunk);
        pending += chunk.length;
        if (pending < PART_BYTES) continue;
        await writer.flush();
        pending = 0;
      }
      await writer.end();
      return { name, ...digest.result() };
    },
    read: (name) => Readable.fromWeb(client.file(`${prefix}${name}`).stream()),
    remove: (name) => client.delete(`${prefix}${name}`),
  };
}

/** Counts and hashes what passes. */
export function createDigest() {
  const hash = createHash("sha256");
  let bytes = 0;
  return {
    async *pass(content: Content): Content {
      for await (const chunk of content) {
        hash.update(chunk);
        bytes += chunk.length;
        yield chunk;
      }
    },
    result: () => ({ bytes, sha256: hash.digest("hex") }),
  };
}

/** Reads a file to its end; throws when it is not what was stored. */
export async function verifyFile(storage: Storage, file: StoredFile): Promise<void> {
  const digest = createDigest();
  for await (const _ of digest.pass(storage.read(file.name)));
  const { bytes, sha256 } = digest.result();
  if (sha256 !== file.sha256)
    throw new Error(
      `${file.name} in ${storage.place} is damaged: ${bytes} of ${file.bytes} bytes, and another SHA-256. Use another backup.`,
    );
}

/** Reads a small file. */
export async function readBytes(storage: Storage, name: string, bytesMax: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of storage.read(name)) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new Error(`${name} in ${storage.place} is too large.`);
    parts.push(chunk);
  }
  return Buffer.concat(parts);
}
