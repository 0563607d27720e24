/** Where backups are kept: a directory, or a folder of an S3-compatible store. */
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, existsSync, readdirSync } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

import { S3Client } from "bun";
import { InvalidArgumentError } from "commander";
import * as z from "zod";

import { envUrl, loadConfig } from "../../../shared/env.ts";
import type { Env } from "../../installation.ts";
import { unfinishedNameOf } from "../owned-files.ts";

/** Bytes of a part of an upload; S3 allows 10,000 parts, which are 160 GB. */
const PART_BYTES = 16 * 1024 ** 2;

const PARTS_AT_ONCE = 2;

const UPLOAD_ATTEMPTS = 3;

/** The content of a file, in parts of any size. */
export type Content = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** A file of a backup, by its name in the storage. */
export type StoredFile = { name: string; bytes: number; sha256: string };

export type Storage = {
  /** The directory or URL, for messages. */
  place: string;
  list(): Promise<string[]>;
  /** Writes a file, which has its name only when it is whole. */
  write(name: string, content: Content): Promise<StoredFile>;
  /** Reads a file; throws when it does not exist. */
  read(name: string): Readable;
  remove(name: string): Promise<void>;
};

/** Where backups are, without an option or a setting. */
export const DEFAULT_PLACE = "/var/backups/shorthop";

/** Whether a text is a place of backups: an absolute path, or `s3://bucket/prefix`. */
export const isPlace = (text: string): boolean =>
  text.startsWith("/") || /^s3:\/\/[^/]+/.test(text);

/** Parses an option. */
export function parsePlace(text: string): string {
  if (isPlace(text)) return text;
  throw new InvalidArgumentError("It must be an absolute path or s3://bucket/prefix.");
}

/** Variables of S3-compatible stores. */
const s3Variables = {
  S3_ENDPOINT: envUrl(["http", "https"]).optional(),
  S3_REGION: z.string().optional(),
  S3_ACCESS_KEY_ID: z.string().optional(),
  S3_SECRET_ACCESS_KEY: z.string().optional(),
};

export type S3Settings = z.output<z.ZodObject<typeof s3Variables>>;

const settings = z.object({
  BACKUP_PLACE: z
    .string()
    .refine(isPlace, "must be an absolute path or s3://bucket/prefix")
    .default(DEFAULT_PLACE),
  ...s3Variables,
});

/** The storage at a place, by default at that of the environment. */
export function storageAt(env: Env, given?: string): Storage {
  const { BACKUP_PLACE, ...s3 } = loadConfig(settings, env);
  const place = given ?? BACKUP_PLACE;
  return place.startsWith("/") ? new Directory(place) : new Bucket(place, s3);
}

export class Directory implements Storage {
  readonly place: string;

  constructor(dir: string) {
    this.place = dir;
  }

  list(): Promise<string[]> {
    if (!existsSync(this.place)) return Promise.resolve([]);
    const entries = readdirSync(this.place, { recursive: true, withFileTypes: true });
    return Promise.resolve(
      entries
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(this.place.length + 1)),
    );
  }

  async write(name: string, content: Content): Promise<StoredFile> {
    const path = join(this.place, name);
    const unfinished = unfinishedNameOf(path);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const digest = new Digest();
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
  }

  read(name: string): Readable {
    return createReadStream(join(this.place, name));
  }

  remove(name: string): Promise<void> {
    return rm(join(this.place, name), { force: true });
  }
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

export class Bucket implements Storage {
  readonly place: string;
  readonly #client: S3Client;
  /** Empty, or ends with a slash. */
  readonly #prefix: string;

  constructor(place: string, settings: S3Settings) {
    this.place = place;
    const { hostname: bucket, pathname } = new URL(place);
    const { S3_ENDPOINT, S3_REGION, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY } = settings;
    this.#client = new S3Client({
      bucket,
      ...(S3_ENDPOINT === undefined ? {} : { endpoint: S3_ENDPOINT }),
      ...(S3_REGION === undefined ? {} : { region: S3_REGION }),
      ...(S3_ACCESS_KEY_ID === undefined ? {} : { accessKeyId: S3_ACCESS_KEY_ID }),
      ...(S3_SECRET_ACCESS_KEY === undefined ? {} : { secretAccessKey: S3_SECRET_ACCESS_KEY }),
    });
    const folders = pathname.split("/").filter((name) => name !== "");
    this.#prefix = folders.map((name) => `${name}/`).join("");
  }

  async list(): Promise<string[]> {
    const prefix = this.#prefix;
    const names: string[] = [];
    for (let token: string | undefined; ;) {
      const from = token === undefined ? {} : { continuationToken: token };
      const page = await this.#client.list({ prefix, ...from });
      names.push(...(page.contents ?? []).map(({ key }) => key.slice(prefix.length)));
      token = page.nextContinuationToken;
      if (page.isTruncated !== true || token === undefined) return names;
    }
  }

  async write(name: string, content: Content): Promise<StoredFile> {
    const writer = this.#client.file(`${this.#prefix}${name}`).writer({
      partSize: PART_BYTES,
      queueSize: PARTS_AT_ONCE,
      retry: UPLOAD_ATTEMPTS,
    });
    const digest = new Digest();
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
  }

  read(name: string): Readable {
    return Readable.fromWeb(this.#client.file(`${this.#prefix}${name}`).stream());
  }

  remove(name: string): Promise<void> {
    return this.#client.delete(`${this.#prefix}${name}`);
  }
}

/** The output of a program, as it comes. Throws when it fails. */
export async function* outputOf(command: readonly string[], env?: Env): AsyncGenerator<Uint8Array> {
  const child = Bun.spawn([...command], {
    stdio: ["ignore", "pipe", "inherit"],
    ...(env === undefined ? {} : { env }),
  });
  try {
    yield* child.stdout;
    if ((await child.exited) !== 0) throw new Error(`${command[0]} failed.`);
  } finally {
    child.kill();
  }
}

/** Counts and hashes what passes. */
export class Digest {
  readonly #hash = createHash("sha256");
  #bytes = 0;

  async *pass(content: Content): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      this.#hash.update(chunk);
      this.#bytes += chunk.length;
      yield chunk;
    }
  }

  /** Of all that has passed; may be called once. */
  result(): { bytes: number; sha256: string } {
    return { bytes: this.#bytes, sha256: this.#hash.digest("hex") };
  }
}

/** Reads a file to its end; throws when it is not what was stored. */
export async function verifyFile(storage: Storage, file: StoredFile): Promise<void> {
  const digest = new Digest();
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
