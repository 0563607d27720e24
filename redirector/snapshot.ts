/**
 * Snapshots of the link cache and its cursor in the feed, on disk: a redirector that restarts has its links at
 * once, even without NATS. One JSON value per line: a header with the cursor, then the links, then an end mark. An
 * unreadable snapshot is ignored. An old one is safe, as the feed resumes from its cursor.
 */
import { type FileHandle, open, readFile, rename, rm } from "node:fs/promises";

import { decodeLinkRecord, type LinkRecord } from "../shared/contracts/link-record.ts";
import type { Log } from "../shared/log.ts";
import type { LinkCache } from "./cache/link-cache.ts";
import type { Cursor } from "./feed-position.ts";
import type { LinkSubscriber } from "./link-subscriber.ts";

const INTERVAL_MS = 60_000;

/** Links per write, so that requests are handled between two writes. */
const WRITE_CHUNK_LINKS = 500;

const VERSION = 1;

type Header = { version: number; cursor: Cursor };

/** Loads a snapshot into the cache and returns its cursor; undefined when there is no readable snapshot. */
export async function loadSnapshot(
  path: string,
  cache: Pick<LinkCache, "put">,
): Promise<Cursor | undefined> {
  const text = await readFile(path, "utf8").catch(() => "");
  const [first = "", ...lines] = text.split("\n");
  const header = readHeader(first);
  // Without the end mark the file is truncated.
  if (header === undefined || lines.at(-1) !== END_MARK) return undefined;
  for (const line of lines) {
    const record = decodeLinkRecord(Buffer.from(line));
    if (record !== undefined) cache.put(record);
  }
  return header.cursor;
}

const END_MARK = "end";

function readHeader(line: string): Header | undefined {
  try {
    const header: Partial<Header> = JSON.parse(line);
    const { version, cursor } = header;
    const isValid = typeof cursor?.stream === "string" && typeof cursor.sequence === "number";
    return version === VERSION && isValid ? { version, cursor } : undefined;
  } catch {
    return undefined;
  }
}

/** Writes a snapshot, in chunks. Changes made meanwhile are newer than the cursor, so the feed delivers them again. */
export async function saveSnapshot(
  path: string,
  cursor: Cursor,
  records: Iterable<LinkRecord>,
): Promise<void> {
  const temporaryPath = `${path}.unfinished`;
  const file = await open(temporaryPath, "w", 0o600);
  try {
    await writeAll(file, { version: VERSION, cursor }, records);
    await file.sync();
  } catch (error) {
    await rm(temporaryPath, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  await rename(temporaryPath, path);
}

async function writeAll(
  file: FileHandle,
  header: Header,
  records: Iterable<LinkRecord>,
): Promise<void> {
  let lines = [JSON.stringify(header)];
  for (const record of records) {
    lines.push(JSON.stringify(record));
    if (lines.length < WRITE_CHUNK_LINKS) continue;
    await file.write(`${lines.join("\n")}\n`);
    lines = [];
  }
  await file.write([...lines, END_MARK].join("\n"));
}

type SnapshotsDeps = {
  path: string;
  cache: LinkCache;
  feed: Pick<LinkSubscriber, "cursor" | "changes">;
  log: Log;
};

/** Saves the cache every minute and when stopped, if it has changed. */
export function startSnapshots({ path, cache, feed, log }: SnapshotsDeps): {
  stop: () => Promise<void>;
} {
  let saving = Promise.resolve();
  let savedState = "";

  function save(): Promise<void> {
    saving = saving.then(async () => {
      try {
        const cursor = feed.cursor();
        if (cursor === undefined) return;
        // Not the sequence, which heartbeats move on every few seconds.
        const state = JSON.stringify([cursor.stream, feed.changes(), cache.stats()]);
        if (state === savedState) return;
        await saveSnapshot(path, cursor, cache.records());
        savedState = state;
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
