/**
 * The search tree of a GeoIP database
 * (https://maxmind.github.io/MaxMind-DB/#binary-search-tree-section), only for IPv4 addresses,
 * which most clicks have. The library parses each address into an array and walks 20 nodes; here a
 * table has the nodes after 16 bits.
 */

/** The database's metadata about its tree. */
type TreeMetadata = {
  nodeCount: number;
  /** Bits of a record: 24, 28 or 32. A node is two records. */
  recordSize: number;
  ipVersion: number;
};

/** Finds the number of an IPv4 address's record in the database; undefined when there is none. */
type FindRecord = (address: number) => number | undefined;

const TABLE_BITS = 16;

/** Reads the tree of a database. Throws when its records have a size that the format lacks. */
export function createTree(
  db: Buffer,
  { nodeCount, recordSize, ipVersion }: TreeMetadata,
): FindRecord {
  const nodeBytes = recordSize / 4;
  const readLeft = LEFT[recordSize];
  const readRight = RIGHT[recordSize];
  if (readLeft === undefined || readRight === undefined)
    throw new Error(`Records of ${recordSize} bits are not supported.`);

  /**
   * Follows bits of the address, the highest first, from `bit` down to `last`; stops at a record
   * that is no node.
   */
  const walk = (from: number, address: number, bit: number, last: number): number => {
    let node = from;
    for (let i = bit; i >= last && node < nodeCount; i--) {
      const offset = node * nodeBytes;
      node = ((address >>> i) & 1) === 0 ? readLeft(db, offset) : readRight(db, offset);
    }
    return node;
  };

  // In a tree of IPv6 addresses, IPv4 ones are below 96 zero bits.
  let root = 0;
  for (let i = 0; ipVersion === 6 && i < 96 && root < nodeCount; i++)
    root = readLeft(db, root * nodeBytes);
  const table = Uint32Array.from({ length: 2 ** TABLE_BITS }, (_, high) =>
    walk(root, high << (32 - TABLE_BITS), 31, 32 - TABLE_BITS),
  );

  return (address) => {
    const node = walk(
      table[address >>> (32 - TABLE_BITS)] ?? nodeCount,
      address,
      31 - TABLE_BITS,
      0,
    );
    return node > nodeCount ? node : undefined;
  };
}

type ReadRecord = (db: Buffer, offset: number) => number;

/** Reads 24 bits, big-endian. */
const read24: ReadRecord = (db, offset) =>
  ((db[offset] ?? 0) << 16) | ((db[offset + 1] ?? 0) << 8) | (db[offset + 2] ?? 0);

const LEFT: Readonly<Record<number, ReadRecord>> = {
  24: read24,
  28: (db, offset) => (((db[offset + 3] ?? 0) & 0xf0) << 20) | read24(db, offset),
  32: (db, offset) => db.readUInt32BE(offset),
};

const RIGHT: Readonly<Record<number, ReadRecord>> = {
  24: (db, offset) => read24(db, offset + 3),
  28: (db, offset) => (((db[offset + 3] ?? 0) & 0x0f) << 24) | read24(db, offset + 4),
  32: (db, offset) => db.readUInt32BE(offset + 4),
};

const DOT = 46;
const ZERO = 48;

/** Parses an IPv4 address in dotted-decimal form to its 32 bits; undefined for any other text. */
export function parseIpv4(text: string): number | undefined {
  let address = 0;
  let part = 0;
  let digits = 0;
  let dots = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === DOT) {
      if (digits === 0) return undefined;
      address = (address << 8) | part;
      [part, digits] = [0, 0];
      dots++;
      continue;
    }
    const digit = code - ZERO;
    // No leading zeros: some programs read them as octal.
    if (digit < 0 || digit > 9 || (digits > 0 && part === 0)) return undefined;
    part = part * 10 + digit;
    if (part > 255) return undefined;
    digits++;
  }
  return dots === 3 && digits > 0 ? ((address << 8) | part) >>> 0 : undefined;
}
