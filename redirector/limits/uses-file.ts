/**
 * The used clicks of each limit, in a file of the journal's directory. A used click is written
 * before its redirect is sent, so that a killed process neither grants a click twice nor loses its
 * leases. After a crash of the machine the end of the file may be missing; leases that were open
 * then count as used.
 *
 * The file has a header, a record with the stream's position, which is overwritten, and then
 * records of {@link RECORD_BYTES}. The last record of a limit is valid. All numbers are
 * little-endian:
 *   header: 8 bytes magic, 16 bytes id of this redirector, 16 bytes id of the machine's boot
 *   record: 16 bytes id of the limit, f64 clicks used, u32 state, u32 CRC-32 of what precedes
 */
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from "node:fs";

import { newUuid, type Uuid } from "../../shared/ids.ts";
import { readUuid, writeUuid } from "../../shared/uuid-bytes.ts";

/**
 * `open`: there may be a lease; `doubtful`: the same, but more of it may be used than was written.
 */
type UseState = "settled" | "open" | "doubtful";

export type Uses = { used: number; state: UseState };

/** The stream's last known position: its creation, and its last sequence. */
export type StreamPosition = { stream: Uuid; sequence: number };

export type UsesFile = {
  /** The id of this redirector in ledgers. */
  holder: Uuid;
  /** The contents of the file when it was opened, least recently written first. */
  loaded: ReadonlyMap<Uuid, Uses>;
  position: StreamPosition | undefined;
  /** Writes a limit's used clicks. Throws when it cannot; then no click may be used. */
  write(limit: Uuid, uses: Uses): void;
  writePosition(position: StreamPosition): void;
  /** Bytes of the file. */
  size(): number;
  /** Rewrites the file with only the records still needed. */
  compact(uses: ReadonlyMap<Uuid, Uses>): void;
  close(): void;
};

const MAGIC = Buffer.from("SHLIMIT1");
const HEADER_BYTES = 40;
export const RECORD_BYTES = 32;
const RECORDS_AT = HEADER_BYTES + RECORD_BYTES;

const STATES = ["settled", "open", "doubtful"] as const satisfies readonly UseState[];

/** Changes when the machine starts. */
const BOOT_ID_PATH = "/proc/sys/kernel/random/boot_id";

/** Reads the id of the machine's boot; a random one, which matches no file, if there is none. */
const readBootId = (): Uuid =>
  existsSync(BOOT_ID_PATH) ? readFileSync(BOOT_ID_PATH, "utf8").trim() : newUuid();

type UsesFileOptions = {
  /** Called for a file in an unknown format, which is kept beside the new one. */
  onUnreadable: (kept: string) => void;
  /** Called when the disk is full; `write` throws until it has space. */
  onUnwritable: (error: unknown) => void;
  boot?: Uuid;
};

/** Opens the file, or creates one. */
export function openUsesFile(
  path: string,
  { onUnreadable, onUnwritable, boot = readBootId() }: UsesFileOptions,
): UsesFile {
  const content = read(path, onUnreadable, boot);
  const { holder, loaded } = content;
  let { position } = content;
  let fd = -1;
  let size = 0;
  const record = Buffer.alloc(RECORD_BYTES);

  function append(bytes: Buffer): void {
    // A partial record would make later ones unreadable, so the next one overwrites it.
    const written = writeSync(fd, bytes, 0, bytes.length, size);
    if (written !== bytes.length) throw new Error(`${path} cannot be written; is the disk full?`);
    size += written;
  }

  function rewrite(uses: ReadonlyMap<Uuid, Uses>): void {
    const records = [...uses].map(([limit, { used, state }]) =>
      encode(Buffer.alloc(RECORD_BYTES), limit, used, STATES.indexOf(state)),
    );
    const bytes = Buffer.concat([encodeHeader(holder, boot), encodePosition(position), ...records]);
    const temporary = `${path}.new`;
    writeFileSync(temporary, bytes, { mode: 0o600 });
    const next = openSync(temporary, "r+");
    fdatasyncSync(next);
    renameSync(temporary, path);
    if (fd >= 0) closeSync(fd);
    fd = next;
    size = bytes.length;
  }

  try {
    rewrite(loaded);
  } catch (error) {
    // With a full disk no clicks of limits are used, and the rest of the process continues.
    onUnwritable(error);
  }
  return {
    holder,
    loaded,
    position,
    write(limit, { used, state }) {
      // Nothing was written since the start, so the loaded contents are current.
      if (fd < 0) rewrite(loaded);
      append(encode(record, limit, used, STATES.indexOf(state)));
    },
    writePosition(next) {
      position = next;
      if (fd < 0) return;
      const written = writeSync(fd, encodePosition(next), 0, RECORD_BYTES, HEADER_BYTES);
      if (written !== RECORD_BYTES) throw new Error(`${path} cannot be written.`);
    },
    size: () => size,
    compact: rewrite,
    close() {
      if (fd >= 0) closeSync(fd);
    },
  };
}

type Content = Pick<UsesFile, "holder" | "position"> & { loaded: Map<Uuid, Uses> };

function read(path: string, onUnreadable: (kept: string) => void, boot: Uuid): Content {
  const fresh: Content = { holder: newUuid(), loaded: new Map(), position: undefined };
  if (!existsSync(path)) return fresh;
  const bytes = readFileSync(path);
  if (bytes.length < RECORDS_AT || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) {
    const kept = `${path}.unreadable-${Date.now()}`;
    renameSync(path, kept);
    onUnreadable(kept);
    return fresh;
  }
  const sameBoot = readUuid(bytes, 24) === boot;
  const position = decode(bytes.subarray(HEADER_BYTES));
  const content: Content = {
    ...fresh,
    holder: readUuid(bytes, 8),
    position: position.valid ? { stream: position.id, sequence: position.used } : undefined,
  };
  for (let at = RECORDS_AT; at + RECORD_BYTES <= bytes.length; at += RECORD_BYTES) {
    const { id, used, kind, valid } = decode(bytes.subarray(at, at + RECORD_BYTES));
    // The rest was being written when the machine stopped.
    if (!valid) break;
    const state = STATES[kind];
    if (state === undefined) continue;
    content.loaded.delete(id);
    content.loaded.set(id, {
      used,
      state: state === "open" && !sameBoot ? "doubtful" : state,
    });
  }
  return content;
}

function encodeHeader(holder: Uuid, boot: Uuid): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  MAGIC.copy(header);
  writeUuid(header, 8, holder);
  writeUuid(header, 24, boot);
  return header;
}

/** An invalid record if there is no position. */
const encodePosition = (position: StreamPosition | undefined): Buffer => {
  const record = Buffer.alloc(RECORD_BYTES);
  return position === undefined ? record : encode(record, position.stream, position.sequence, 0);
};

function encode(record: Buffer, id: Uuid, used: number, kind: number): Buffer {
  writeUuid(record, 0, id);
  record.writeDoubleLE(used, 16);
  record.writeUInt32LE(kind, 24);
  record.writeUInt32LE(Bun.hash.crc32(record.subarray(0, 28)), 28);
  return record;
}

const decode = (record: Buffer) => ({
  id: readUuid(record, 0),
  used: record.readDoubleLE(16),
  kind: record.readUInt32LE(24),
  valid: record.readUInt32LE(28) === Bun.hash.crc32(record.subarray(0, 28)),
});
