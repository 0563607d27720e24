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

import { newUuid, readUuid, type Uuid, writeUuid } from "../../shared/ids.ts";

/**
 * `open`: there may be a lease; `doubtful`: the same, but more of it may be used than was written.
 */
type UseState = "settled" | "open" | "doubtful";

export type Uses = { used: number; state: UseState };

/** The stream's last known position: its creation, and its last sequence. */
export type StreamPosition = { stream: Uuid; sequence: number };

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

export interface UsesFileEvents {
  /** It has an unknown format, and is kept beside the new one. */
  unreadable(kept: string): void;
  /** The disk is full; `write` throws until it has space. */
  unwritable(error: unknown): void;
}

export class UsesFile {
  /** The id of this redirector in ledgers. */
  readonly holder: Uuid;
  /** The contents of the file when it was opened, least recently written first. */
  readonly loaded: ReadonlyMap<Uuid, Uses>;
  readonly #path: string;
  readonly #boot: Uuid;
  readonly #record = Buffer.alloc(RECORD_BYTES);
  #position: StreamPosition | undefined;
  #fd = -1;
  #size = 0;

  /** Opens the file, or creates one. */
  constructor(path: string, events: UsesFileEvents, boot = readBootId()) {
    const { holder, loaded, position } = read(path, events, boot);
    this.holder = holder;
    this.loaded = loaded;
    this.#path = path;
    this.#boot = boot;
    this.#position = position;
    try {
      this.compact(loaded);
    } catch (error) {
      // With a full disk no clicks of limits are used, and the rest of the process continues.
      events.unwritable(error);
    }
  }

  get size(): number {
    return this.#size;
  }

  /** The position of the stream that was written last. */
  get position(): StreamPosition | undefined {
    return this.#position;
  }

  /** Writes a limit's used clicks. Throws when it cannot; then no click may be used. */
  write(limit: Uuid, { used, state }: Uses): void {
    // Nothing was written since the start, so the loaded contents are current.
    if (this.#fd < 0) this.compact(this.loaded);
    const record = encode(this.#record, limit, used, STATES.indexOf(state));
    // A partial record would make later ones unreadable, so the next one overwrites it.
    if (writeSync(this.#fd, record, 0, RECORD_BYTES, this.#size) !== RECORD_BYTES)
      throw new Error(`${this.#path} cannot be written; is the disk full?`);
    this.#size += RECORD_BYTES;
  }

  writePosition(position: StreamPosition): void {
    this.#position = position;
    if (this.#fd < 0) return;
    const record = encodePosition(position);
    if (writeSync(this.#fd, record, 0, RECORD_BYTES, HEADER_BYTES) !== RECORD_BYTES)
      throw new Error(`${this.#path} cannot be written.`);
  }

  /** Rewrites the file with only the records still needed. */
  compact(uses: ReadonlyMap<Uuid, Uses>): void {
    const bytes = Buffer.concat([
      encodeHeader(this.holder, this.#boot),
      encodePosition(this.#position),
      ...[...uses].map(([limit, { used, state }]) =>
        encode(Buffer.alloc(RECORD_BYTES), limit, used, STATES.indexOf(state)),
      ),
    ]);
    const temporary = `${this.#path}.new`;
    writeFileSync(temporary, bytes, { mode: 0o600 });
    const next = openSync(temporary, "r+");
    fdatasyncSync(next);
    renameSync(temporary, this.#path);
    this.close();
    this.#fd = next;
    this.#size = bytes.length;
  }

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
  }
}

type Content = {
  holder: Uuid;
  loaded: Map<Uuid, Uses>;
  position: StreamPosition | undefined;
};

function read(path: string, events: UsesFileEvents, boot: Uuid): Content {
  const fresh: Content = { holder: newUuid(), loaded: new Map(), position: undefined };
  if (!existsSync(path)) return fresh;
  const bytes = readFileSync(path);
  if (bytes.length < RECORDS_AT || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) {
    const kept = `${path}.unreadable-${Date.now()}`;
    renameSync(path, kept);
    events.unreadable(kept);
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
