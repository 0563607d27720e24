/**
 * Images of the links store: compressed SQLite files with all links, and with the position in the
 * feed up to which they have its changes. They are stored in a directory or in an S3-compatible
 * store. An image's name has the format of the store, its time, the position in each stream of the
 * feed, and the SHA-256 of the file.
 */
import { createHash } from "node:crypto";
import {
  chmodSync,
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
} from "node:fs";
import { open, rename } from "node:fs/promises";
import { join } from "node:path";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdCompress, createZstdDecompress } from "node:zlib";

import * as z from "zod";

import { openBucket, type S3Settings, s3Variables } from "../s3.ts";
import { type FeedState, STORE_FORMAT } from "./schema.ts";

/** Variables of the processes that write or read images. */
export const imageVariables = {
  /**
   * Where images of all links are kept: an absolute path of a directory, or `s3://bucket/prefix`.
   */
  LINKS_IMAGES: z
    .string()
    .refine(
      (place) => place.startsWith("/") || /^s3:\/\/[^/]+/.test(place),
      "must be an absolute path or s3://bucket/prefix",
    )
    .optional(),
  /**
   * The S3-compatible store, and a key that may read the bucket and, for the API, write and delete
   * there.
   */
  ...s3Variables,
};

/** The configured storage of images. */
export type ImagesPlace = z.output<z.ZodObject<typeof imageVariables>>;

export const imagesPlaceOf = (config: ImagesPlace): ImagesPlace =>
  z.object(imageVariables).parse(config);

/** A stored image: its time, and the position in the feed up to which it has all changes. */
type Image = { name: string; madeAt: Date } & ImagePosition;

/** The epoch of a stream, and the sequence of a message in it. */
type StreamPosition = Pick<FeedState, "epoch" | "sequence">;

/**
 * The position of an image in the feed: in its one stream, or in the first and the other streams of
 * a divided feed.
 */
export type ImagePosition = StreamPosition & { others?: readonly StreamPosition[] };

/** The positions in all streams of the feed, in their order. */
export const positionsOf = ({ epoch, sequence, others = [] }: ImagePosition): StreamPosition[] => [
  { epoch, sequence },
  ...others,
];

/** The reverse of {@link positionsOf}; undefined without a position. */
export const toPosition = ([first, ...others]: readonly StreamPosition[]):
  ImagePosition | undefined =>
  first === undefined || others.length === 0 ? first : { ...first, others };

export type Images = {
  /** The images of this version's format, newest first. */
  list(): Promise<Image[]>;
  /**
   * Compresses a file and stores it; returns its name. `list` returns it only when it is stored
   * completely.
   */
  add(path: string, position: ImagePosition): Promise<string>;
  /**
   * Reads an image into a file; throws when its hash differs, or when no data arrives for half a
   * minute.
   */
  read(name: string, path: string, signal: AbortSignal): Promise<void>;
  remove(name: string): Promise<void>;
  /** A folder for the file before it is added. */
  workDir: string;
};

/** The operations that differ between a directory and a bucket. */
type Storage = {
  workDir: string;
  names(): Promise<string[]>;
  /** Stores a file by copying or moving it. */
  put(name: string, path: string): Promise<void>;
  stream(name: string): Readable;
  remove(name: string): Promise<void>;
};

const NAME =
  /^(links-\d{1,3})_(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z)((?:_\d{1,16}_\d{1,16})+)_([0-9a-f]{64})\.sqlite\.zst$/;

/** Time without data after which a read fails. */
const STALL_MS = 30_000;

/** Opens the storage of images; undefined when none is configured. */
export function openImages(place: ImagesPlace): Images | undefined {
  const { LINKS_IMAGES } = place;
  if (LINKS_IMAGES === undefined) return undefined;
  const storage = LINKS_IMAGES.startsWith("/")
    ? openDirectory(LINKS_IMAGES)
    : openBucketStorage(new URL(LINKS_IMAGES), place);
  return {
    workDir: storage.workDir,
    async list() {
      const images = (await storage.names()).flatMap((name) => toImage(name) ?? []);
      return images.toSorted((a, b) => b.madeAt.getTime() - a.madeAt.getTime());
    },
    async add(path, position) {
      const compressed = `${path}.zst`;
      const hash = createHash("sha256");
      try {
        await pipeline(
          createReadStream(path),
          createZstdCompress(),
          tap((chunk) => hash.update(chunk)),
          createWriteStream(compressed),
        );
        // Independent of the umask: redirectors are other users, in the directory's group.
        chmodSync(compressed, 0o640);
        const madeAt = new Date().toISOString().replaceAll(":", "-");
        const numbers = positionsOf(position).map((at) => `${at.epoch}_${at.sequence}`);
        const name = `${STORE_FORMAT}_${madeAt}_${numbers.join("_")}_${hash.digest("hex")}.sqlite.zst`;
        await storage.put(name, compressed);
        return name;
      } finally {
        rmSync(compressed, { force: true });
      }
    },
    async read(name, path, signal) {
      const hash = createHash("sha256");
      const stalled = new AbortController();
      const giveUp = () => stalled.abort(new Error(`The image ${name} does not come.`));
      let timer = setTimeout(giveUp, STALL_MS);
      try {
        await pipeline(
          storage.stream(name),
          tap((chunk) => {
            hash.update(chunk);
            clearTimeout(timer);
            timer = setTimeout(giveUp, STALL_MS);
          }),
          createZstdDecompress(),
          createWriteStream(path, { mode: 0o600 }),
          { signal: AbortSignal.any([signal, stalled.signal]) },
        );
      } finally {
        clearTimeout(timer);
      }
      if (NAME.exec(name)?.[4] !== hash.digest("hex"))
        throw new Error(`The image ${name} is not what was stored.`);
    },
    remove: storage.remove,
  };
}

function toImage(name: string): Image | undefined {
  const [, format, madeAt, numbers = ""] = NAME.exec(name) ?? [];
  const pairs = [...numbers.matchAll(/_(\d+)_(\d+)/g)];
  const position = toPosition(
    pairs.map(([, epoch, sequence]) => ({ epoch: Number(epoch), sequence: Number(sequence) })),
  );
  if (format !== STORE_FORMAT || madeAt === undefined || position === undefined) return undefined;
  return {
    name,
    madeAt: new Date(madeAt.replace(/T(\d\d)-(\d\d)-/, "T$1:$2:")),
    ...position,
  };
}

/** Passes bytes through, and each chunk to a function. */
const tap = (use: (chunk: Buffer) => void): Transform =>
  new Transform({
    transform(chunk: Buffer, _encoding, next) {
      use(chunk);
      next(null, chunk);
    },
  });

function openDirectory(dir: string): Storage {
  return {
    workDir: dir,
    // The process that writes images creates the directory.
    names: () => Promise.resolve(existsSync(dir) ? readdirSync(dir) : []),
    async put(name, path) {
      const file = await open(path);
      try {
        await file.sync();
      } finally {
        await file.close();
      }
      mkdirSync(dir, { recursive: true, mode: 0o750 });
      await rename(path, join(dir, name));
    },
    stream: (name) => createReadStream(join(dir, name)),
    remove: (name) => Promise.resolve(rmSync(join(dir, name), { force: true })),
  };
}

/** On disk: `/tmp` can be in memory. */
const BUCKET_WORK_DIR = "/var/tmp";

function openBucketStorage(url: URL, settings: S3Settings): Storage {
  const { client, prefix } = openBucket(url, settings);
  return {
    workDir: BUCKET_WORK_DIR,
    async names() {
      const { contents = [] } = await client.list({ prefix: `${prefix}${STORE_FORMAT}_` });
      return contents.map(({ key }) => key.slice(prefix.length));
    },
    put: async (name, path) => void (await client.write(`${prefix}${name}`, Bun.file(path))),
    stream: (name) => Readable.fromWeb(client.file(`${prefix}${name}`).stream()),
    remove: (name) => client.delete(`${prefix}${name}`),
  };
}
