/**
 * `shorthop geoip update`: downloads the GeoIP databases of `GEOIP_URLS` to the paths of
 * `GEOIP_DATABASES`. A file is replaced atomically, and only by a newer city database that can be
 * read; a running worker then reads it again.
 */
import { createReadStream, createWriteStream } from "node:fs";
import { chmod, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";

import { GeoDatabase } from "../shared/visitors/geo.ts";

/** Ten times the size of the largest city databases. */
const BYTES_MAX = 2 * 1024 ** 3;

const DOWNLOAD_TIMEOUT_MS = 600_000;

/** Google's resolvers, which every city database knows, in one of IPv4 or IPv6. */
const KNOWN_ADDRESSES = ["8.8.8.8", "2001:4860:4860::8888"];

/** A gzip file begins with these bytes (RFC 1952). */
const GZIP = Buffer.from([0x1f, 0x8b]);

/**
 * Updates one database; returns a message about the result. `url` may contain `{YYYY}` and `{MM}`:
 * this month, or the month before if this month's is not published yet. Throws, and leaves the file
 * as it is, when there is no usable database.
 */
export async function updateDatabase(url: string, path: string, now = new Date()): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  const unfinished = `${path}.new`;
  try {
    await download(url, unfinished, now);
    const built = await requireCityDatabase(unfinished);
    const present = await GeoDatabase.read(path).catch(() => undefined);
    if (present !== undefined && present.built >= built)
      return `${path} is up to date: of ${toDay(present.built)}`;
    await chmod(unfinished, 0o644);
    await rename(unfinished, path);
    return `${path} is now of ${toDay(built)}`;
  } finally {
    await rm(unfinished, { force: true });
  }
}

const toDay = (date: Date): string => date.toISOString().slice(0, 10);

async function download(template: string, path: string, now: Date): Promise<void> {
  const before = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1));
  const urls = new Set([now, before].map((month) => expand(template, month)));
  const failures: string[] = [];
  for (const url of urls) {
    const response = await fetch(url, { signal: AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS) });
    // Without the query, which may hold a licence key.
    const { host, pathname } = new URL(url);
    if (response.ok && response.body !== null) return await store(response.body, path);
    failures.push(`${host}${pathname} responded ${response.status}`);
  }
  throw new Error(failures.join(", "));
}

const expand = (template: string, month: Date): string =>
  template
    .replaceAll("{YYYY}", String(month.getUTCFullYear()))
    .replaceAll("{MM}", String(month.getUTCMonth() + 1).padStart(2, "0"));

/** Writes a download to a file, unpacked, and syncs it to disk. */
async function store(body: ReadableStream<Uint8Array>, path: string): Promise<void> {
  const packed = `${path}.download`;
  try {
    await pipeline(Readable.from(body), limitBytes(), createWriteStream(packed));
    if (await isGzip(packed))
      await pipeline(
        createReadStream(packed),
        createGunzip(),
        limitBytes(),
        createWriteStream(path),
      );
    else await rename(packed, path);
  } finally {
    await rm(packed, { force: true });
  }
  const file = await open(path);
  await file.sync();
  await file.close();
}

const isGzip = async (path: string): Promise<boolean> =>
  GZIP.equals(await Bun.file(path).slice(0, GZIP.length).bytes());

function limitBytes(): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > BYTES_MAX) done(new Error(`it has more than ${BYTES_MAX} bytes`));
      else done(null, chunk);
    },
  });
}

/** Returns when a database was built; throws unless it locates addresses. */
async function requireCityDatabase(path: string): Promise<Date> {
  const database = await GeoDatabase.read(path).catch((cause: unknown) => {
    throw new Error("what was downloaded is no MMDB file", { cause });
  });
  const locates = KNOWN_ADDRESSES.some((address) => database.locate(address) !== undefined);
  if (!locates) throw new Error("what was downloaded is no city database");
  return database.built;
}
