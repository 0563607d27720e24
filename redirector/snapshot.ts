/**
 * The links in memory and the feed's position, on disk: a redirector that starts again has its links at
 * once, and without NATS as well. One JSON value a line: the position, then the links. A snapshot that
 * cannot be read is none; it can be old, and never wrong: the feed goes on from its position.
 */
import { type FileHandle, open, readFile, rename, rm } from "node:fs/promises";

import { decodeLinkRecord, type LinkRecord } from "../shared/contracts/link-record.ts";
import type { Log } from "../shared/log.ts";
import type { LinkCache } from "./cache/link-cache.ts";
import type { Cursor, LinkFeed } from "./link-feed.ts";

const INTERVAL_MS = 60_000;

/** Links written in one turn, so that people are answered in between. */
const TURN = 500;

const VERSION = 1;

type Header = { version: number; cursor: Cursor };

/** Reads a snapshot into the cache, and gives the position it stands for; undefined when there is none. */
export async function loadSnapshot(
  path: string,
  cache: Pick<LinkCache, "put">,
): Promise<Cursor | undefined> {
  const text = await readFile(path, "utf8").catch(() => "");
  const [first = "", ...lines] = text.split("\n");
  const header = readHeader(first);
  // The last line says that the file is whole.
  if (header === undefined || lines.at(-1) !== END) return undefined;
  for (const line of lines) {
    const record = decodeLinkRecord(Buffer.from(line));
    if (record !== undefined) cache.put(record);
  }
  return header.cursor;
}

const END = "end";

function readHeader(line: string): Header | undefined {
  try {
    const header: Partial<Header> = JSON.parse(line);
    const { version, cursor } = header;
    const sound = typeof cursor?.stream === "string" && typeof cursor.sequence === "number";
    return version === VERSION && sound ? { version, cursor } : undefined;
  } catch {
    return undefined;
  }
}

/** Writes a snapshot, in turns. What changes meanwhile is newer than the position, so nothing is missed. */
export async function saveSnapshot(
  path: string,
  cursor: Cursor,
  records: Iterable<LinkRecord>,
): Promise<void> {
  const unfinished = `${path}.unfinished`;
  const file = await open(unfinished, "w", 0o600);
  try {
    await writeAll(file, { version: VERSION, cursor }, records);
    await file.sync();
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  await rename(unfinished, path);
}

async function writeAll(
  file: FileHandle,
  header: Header,
  records: Iterable<LinkRecord>,
): Promise<void> {
  let lines = [JSON.stringify(header)];
  for (const record of records) {
    lines.push(JSON.stringify(record));
    if (lines.length < TURN) continue;
    await file.write(`${lines.join("\n")}\n`);
    lines = [];
  }
  await file.write([...lines, END].join("\n"));
}

type SnapshotsDeps = { path: string; cache: LinkCache; feed: Pick<LinkFeed, "cursor">; log: Log };

/** Saves the cache now and then, where something has changed; the last time when stopped. */
export function startSnapshots({ path, cache, feed, log }: SnapshotsDeps): {
  stop: () => Promise<void>;
} {
  let saving = Promise.resolve();
  let saved = "";

  function save(): Promise<void> {
    saving = saving.then(async () => {
      const cursor = feed.cursor();
      const state = JSON.stringify([cursor, cache.stats()]);
      if (cursor === undefined || state === saved) return;
      try {
        await saveSnapshot(path, cursor, cache.records());
        saved = state;
      } catch (error) {
        log.warn({ error }, "snapshot_not_saved");
      }
    });
    return saving;
  }

  const timer = setInterval(() => void save(), INTERVAL_MS);
  return {
    async stop() {
      clearInterval(timer);
      await save();
    },
  };
}
