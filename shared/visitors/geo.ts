/** GeoIP: locates IP addresses with city databases in MMDB format. */
import { watchFile } from "node:fs";
import { readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";

import { Reader, type Response } from "maxmind";
import * as z from "zod";

import { embeddedIpv4, parseIpv4 } from "../addresses.ts";
import { isCountry, UNKNOWN_COUNTRY } from "../countries.ts";
import { cached } from "./cache.ts";

export type GeoLocation = {
  continent: string;
  /** ISO 3166-1 alpha-2; `ZZ` where unknown. */
  country: string;
  /** ISO 3166-2 code where the database has one, else the name. */
  region: string;
  region_name: string;
  city: string;
};

export const UNKNOWN_LOCATION: GeoLocation = {
  continent: "",
  country: UNKNOWN_COUNTRY,
  region: "",
  region_name: "",
  city: "",
};

export interface Geo {
  /**
   * Locates an address. Addresses with the same record get the same object while that is cached.
   */
  locate(address: string): GeoLocation;
  /** The databases in use, with the build time of their data. */
  databases(): { path: string; built: Date }[];
}

/** Time between two checks of the files for changes. */
const WATCH_INTERVAL_MS = 5_000;

/**
 * Cached locations of a database: to decode a record takes some microseconds. At 200 bytes each, 10
 * to 20 MB.
 */
const LOCATIONS_MAX = 50_000;

/** What every place has, where it is known: names by language. */
const place = z.object({
  iso_code: z.string().optional(),
  names: z.object({ en: z.string().optional() }).optional(),
});

/** The record of GeoIP2 City, used by GeoLite2 City and DB-IP's own City Lite. */
const geoip2Record = z.object({
  continent: z.object({ code: z.string() }).optional(),
  country: place.optional(),
  subdivisions: z.array(place).optional(),
  city: place.optional(),
});

/** The flat record of ip-location-db's city databases. */
const flatRecord = z.object({
  country_code: z.string(),
  state1: z.string().optional(),
  city: z.string().optional(),
});

/** A database of one file. */
export class GeoDatabase {
  readonly path: string;
  readonly #reader: Reader<Response>;
  readonly #tree: Ipv4Tree;
  /**
   * By the record's number; the address is any one with that record. Null for a record without a
   * location.
   */
  readonly #locations = cached(LOCATIONS_MAX, (_record: number, address: string) => ({
    location: toLocation(this.#reader.get(address)),
  }));

  /** Throws when the bytes are no database. */
  constructor(path: string, bytes: Buffer) {
    this.path = path;
    this.#reader = new Reader<Response>(bytes);
    this.#tree = new Ipv4Tree(bytes, this.#reader.metadata);
  }

  /** Throws when the file cannot be read, or is no database. */
  static async read(path: string): Promise<GeoDatabase> {
    return new GeoDatabase(path, await readFile(path));
  }

  get built(): Date {
    return this.#reader.metadata.buildEpoch;
  }

  /**
   * Returns the location of an address; `ipv4` is its number if it is one. Undefined when the
   * database has none.
   */
  locate(address: string, ipv4 = parseIpv4(address)): GeoLocation | undefined {
    if (ipv4 !== undefined) {
      const record = this.#tree.find(ipv4);
      return record === undefined ? undefined : this.#locations(record, address).location;
    }
    // A database of only IPv4 would return the location of an unrelated IPv4 address.
    if (this.#reader.metadata.ipVersion !== 6) return undefined;
    return toLocation(this.#reader.get(address));
  }
}

/** The databases of a process, of which each is read again when its file is replaced or appears. */
export class GeoDatabases implements Geo {
  readonly #paths: readonly string[];
  readonly #onMissing: (path: string, error: unknown) => void;
  /** By path; a missing file may appear later. */
  readonly #opened = new Map<string, GeoDatabase>();
  #databases: GeoDatabase[] = [];

  /** Use {@link GeoDatabases.open}. */
  private constructor(paths: readonly string[], onMissing: (path: string, error: unknown) => void) {
    this.#paths = paths;
    this.#onMissing = onMissing;
  }

  /**
   * Opens the databases. Calls `onMissing` for a file that cannot be read, and continues without it
   * or with its earlier content: clicks without a location are better than no clicks.
   */
  static async open(
    paths: readonly string[],
    onMissing: (path: string, error: unknown) => void,
    intervalMs = WATCH_INTERVAL_MS,
  ): Promise<GeoDatabases> {
    const geo = new GeoDatabases(paths, onMissing);
    for (const path of paths) {
      await geo.#read(path);
      watchFile(path, { persistent: false, interval: intervalMs }, () => void geo.#read(path));
    }
    return geo;
  }

  locate(text: string): GeoLocation {
    const address = embeddedIpv4(text) ?? text;
    const ipv4 = parseIpv4(address);
    if (ipv4 === undefined && !isIPv6(address)) return UNKNOWN_LOCATION;
    for (const database of this.#databases) {
      const location = database.locate(address, ipv4);
      if (location !== undefined) return location;
    }
    return UNKNOWN_LOCATION;
  }

  /** Whether no database could be read yet: nothing is located. */
  get isEmpty(): boolean {
    return this.#databases.length === 0;
  }

  databases(): { path: string; built: Date }[] {
    return this.#databases.map(({ path, built }) => ({ path, built }));
  }

  async #read(path: string): Promise<void> {
    try {
      this.#opened.set(path, await GeoDatabase.read(path));
      this.#databases = this.#paths.flatMap((each) => this.#opened.get(each) ?? []);
    } catch (error) {
      this.#onMissing(path, error);
    }
  }
}

/** Reads databases; throws when one of them cannot be read. */
export const readDatabases = (paths: readonly string[]): Promise<GeoDatabase[]> =>
  Promise.all(
    paths.map((path) =>
      GeoDatabase.read(path).catch((cause: unknown) => {
        throw new Error(`${path} cannot be read`, { cause });
      }),
    ),
  );

/** Returns the check (shared/preflight.ts) that databases can be read. */
export const checkDatabases = (paths: readonly string[]) => ({
  name: "GEOIP_DATABASES",
  mend: "Put an MMDB file there (shorthop geoip update), or leave the variable empty.",
  run: async () => void (await readDatabases(paths)),
});

/** Converts a record of either format; undefined when the database does not have the address. */
export function toLocation(record: unknown): GeoLocation | undefined {
  const flat = flatRecord.safeParse(record).data;
  if (flat !== undefined) {
    const region = flat.state1 ?? "";
    return {
      continent: "",
      country: normalizeCountry(flat.country_code),
      region,
      region_name: region,
      city: flat.city ?? "",
    };
  }
  const geoip2 = geoip2Record.safeParse(record).data;
  // Of some addresses only the continent is known.
  if (geoip2 === undefined || (geoip2.country ?? geoip2.continent) === undefined) return undefined;
  const country = normalizeCountry(geoip2.country?.iso_code ?? "");
  const [subdivision] = geoip2.subdivisions ?? [];
  const name = subdivision?.names?.en ?? "";
  const code = subdivision?.iso_code;
  return {
    continent: geoip2.continent?.code ?? "",
    country,
    region: code === undefined ? name : `${country}-${code}`,
    region_name: name,
    city: geoip2.city?.names?.en ?? "",
  };
}

/** Only countries, so that filters and rules can list all that there are. */
function normalizeCountry(text: string): string {
  const code = text.toUpperCase();
  return isCountry(code) ? code : UNKNOWN_COUNTRY;
}

/** The database's metadata about its tree. */
type TreeMetadata = {
  nodeCount: number;
  /** Bits of a record: 24, 28 or 32. A node is two records. */
  recordSize: number;
  ipVersion: number;
};

const TABLE_BITS = 16;

/**
 * The search tree of a database
 * (https://maxmind.github.io/MaxMind-DB/#binary-search-tree-section), only for IPv4 addresses,
 * which most clicks have. The library parses each address into an array and walks 20 nodes; here a
 * table has the nodes after 16 bits.
 */
export class Ipv4Tree {
  readonly #bytes: Buffer;
  readonly #nodeCount: number;
  readonly #nodeBytes: number;
  readonly #readLeft: ReadRecord;
  readonly #readRight: ReadRecord;
  readonly #table: Uint32Array;

  /** Throws when the records have a size that the format lacks. */
  constructor(bytes: Buffer, { nodeCount, recordSize, ipVersion }: TreeMetadata) {
    const readLeft = LEFT[recordSize];
    const readRight = RIGHT[recordSize];
    if (readLeft === undefined || readRight === undefined)
      throw new Error(`Records of ${recordSize} bits are not supported.`);
    this.#bytes = bytes;
    this.#nodeCount = nodeCount;
    this.#nodeBytes = recordSize / 4;
    this.#readLeft = readLeft;
    this.#readRight = readRight;
    // In a tree of IPv6 addresses, IPv4 ones are below 96 zero bits.
    let root = 0;
    for (let i = 0; ipVersion === 6 && i < 96 && root < nodeCount; i++)
      root = readLeft(bytes, root * this.#nodeBytes);
    this.#table = Uint32Array.from({ length: 2 ** TABLE_BITS }, (_, high) =>
      this.#walk(root, high << (32 - TABLE_BITS), 31, 32 - TABLE_BITS),
    );
  }

  /** Finds the number of an address's record in the database; undefined when there is none. */
  find(address: number): number | undefined {
    const from = this.#table[address >>> (32 - TABLE_BITS)] ?? this.#nodeCount;
    const node = this.#walk(from, address, 31 - TABLE_BITS, 0);
    return node > this.#nodeCount ? node : undefined;
  }

  /**
   * Follows bits of the address, the highest first, from `bit` down to `last`; stops at a record
   * that is no node.
   */
  #walk(from: number, address: number, bit: number, last: number): number {
    let node = from;
    for (let i = bit; i >= last && node < this.#nodeCount; i--) {
      const read = ((address >>> i) & 1) === 0 ? this.#readLeft : this.#readRight;
      node = read(this.#bytes, node * this.#nodeBytes);
    }
    return node;
  }
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
