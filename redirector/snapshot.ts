/**
 * Snapshots of the link cache and its cursor in the feed, on disk: a redirector that restarts has its links at
 * once, even without NATS. One JSON value per line: a header with the cursor, then the links, then an end mark. An
 * unreadable snapshot is ignored. An old one is safe, as the feed resumes from its cursor.
 */
import { type FileHandle, open, readFile, rename, rm } from "node:fs/promises";

import { isNotice } from "../shared/contracts/feed-notices.ts";
import { UNDERSTOOD } from "../shared/contracts/link-extras.ts";
import { decodeLinkRecord, type LinkRecord, toMessage } from "../shared/contracts/link-record.ts";
import type { Log } from "../shared/log.ts";
import type { LinkCache } from "./cache/link-cache.ts";
import type { Cursor } from "./feed-position.ts";
import type { LinkSubscriber } from "./link-subscriber.ts";

const INTERVAL_MS = 60_000;

/** Links per write, so that requests are handled between two writes. */
const WRITE_CHUNK_LINKS = 500;

const VERSION = 1;

/** The state of the feed that a cache had: its position, and the epoch since which its links are valid. */
export type FeedState = { cursor: Cursor; epoch: number | undefined };

/**
 * `extras` are those that the writer understood; a link with others is deleted in its snapshot. `utm` says that the writer
 * kept the UTM parameters of links. Earlier versions wrote no `epoch`.
 */
type Header = {
  version: number;
  cursor: Cursor;
  epoch?: number;
  extras?: readonly string[];
  utm?: boolean;
};

/**
 * Loads a snapshot into the cache and returns its state of the feed; undefined when there is no readable snapshot. Passes
 * on notices, which come before the links.
 */
export async function loadSnapshot(
  path: string,
  cache: Pick<LinkCache, "put">,
  applyNotice: (notice: LinkRecord) => void = () => undefined,
): Promise<FeedState | undefined> {
  const text = await readFile(path, "utf8").catch(() => "");
  const [first = "", ...lines] = text.split("\n");
  const header = readHeader(first);
  // Without the end mark the file is truncated.
  if (header === undefined || lines.at(-1) !== END_MARK) return undefined;
  const sameExtras = Bun.deepEquals(header.extras, UNDERSTOOD);
  for (const line of lines) {
    const record = decodeLinkRecord(Buffer.from(line));
    if (record === undefined) continue;
    if (isNotice(record)) {
      applyNotice(record);
      continue;
    }
    // The writer may have taken a link for deleted that this version understands, or dropped its UTM parameters: it is
    // fetched when requested.
    const isComplete =
      record.state === "active"
        ? header.utm === true || !record.destination.includes("utm_")
        : sameExtras;
    if (isComplete) cache.put(record);
  }
  return { cursor: header.cursor, epoch: header.epoch };
}

const END_MARK = "end";

function readHeader(line: string): Header | undefined {
  try {
    const header: Partial<Header> = JSON.parse(line);
    const { version, cursor, epoch, extras, utm } = header;
    const isValid = typeof cursor?.stream === "string" && typeof cursor.sequence === "number";
    return version === VERSION && isValid
      ? {
          version,
          cursor,
          ...(typeof epoch === "number" ? { epoch } : {}),
          ...(extras === undefined ? {} : { extras }),
          utm: utm === true,
        }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Writes a snapshot, in chunks. Changes made meanwhile are newer than the cursor, so the feed delivers them again. */
export async function saveSnapshot(
  path: string,
  { cursor, epoch }: FeedState,
  records: Iterable<LinkRecord>,
): Promise<void> {
  const temporaryPath = `${path}.unfinished`;
  const file = await open(temporaryPath, "w", 0o600);
  try {
    const state = { cursor, ...(epoch === undefined ? {} : { epoch }) };
    await writeAll(file, { version: VERSION, ...state, extras: UNDERSTOOD, utm: true }, records);
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
    lines.push(JSON.stringify(toMessage(record)));
    if (lines.length < WRITE_CHUNK_LINKS) continue;
    await file.write(`${lines.join("\n")}\n`);
    lines = [];
  }
  await file.write([...lines, END_MARK].join("\n"));
}

function* concatenate<Item>(first: Iterable<Item>, second: Iterable<Item>): Iterable<Item> {
  yield* first;
  yield* second;
}

type SnapshotsDeps = {
  path: string;
  cache: LinkCache;
  /** What else the feed has delivered: takedowns and settings of domains. */
  notices: () => readonly LinkRecord[];
  feed: Pick<LinkSubscriber, "cursor" | "epoch" | "changes">;
  log: Log;
};

/** Saves the cache every minute and when stopped, if it has changed and is valid. */
export function startSnapshots({ path, cache, notices, feed, log }: SnapshotsDeps): {
  stop: () => Promise<void>;
} {
  let saving = Promise.resolve();
  let savedState = "";

  function save(): Promise<void> {
    saving = saving.then(async () => {
      try {
        const [cursor, epoch] = [feed.cursor(), feed.epoch()];
        // While cached links have to be read again, the last snapshot says so to the next start, and this one would not.
        if (cursor === undefined || epoch === undefined) return;
        // Not the sequence, which heartbeats move on every few seconds.
        const state = JSON.stringify([cursor.stream, epoch, feed.changes(), cache.stats()]);
        if (state === savedState) return;
        await saveSnapshot(path, { cursor, epoch }, concatenate(notices(), cache.records()));
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
