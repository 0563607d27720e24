/** GeoIP: locates IP addresses with city databases in MMDB format. */
import { watchFile } from "node:fs";
import { readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";

import { Reader, type Response } from "maxmind";
import * as z from "zod";

import { isCountry, UNKNOWN_COUNTRY } from "../countries.ts";
import { cached } from "./cache.ts";
import { createTree, parseIpv4 } from "./mmdb-tree.ts";

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

export type Geo = {
  /** Locates an address. Addresses with the same record get the same object while that is cached. */
  locate(address: string): GeoLocation;
  /** The databases in use, with the build time of their data. */
  databases(): { path: string; built: Date }[];
};

/** Time between two checks of the files for changes. */
const WATCH_INTERVAL_MS = 5_000;

/** Cached locations of a database: to decode a record takes some microseconds. At 200 bytes each, 10 to 20 MB. */
const LOCATIONS_MAX = 50_000;

/** The record of GeoIP2 City, used by GeoLite2 City and DB-IP's own City Lite. */
const geoip2Record = z.object({
  continent: z.object({ code: z.string() }).optional(),
  country: z.object({ iso_code: z.string() }).optional(),
  subdivisions: z
    .array(
      z.object({ iso_code: z.string().optional(), names: z.object({ en: z.string() }).optional() }),
    )
    .optional(),
  city: z.object({ names: z.object({ en: z.string() }) }).optional(),
});

/** The flat record of ip-location-db's city databases. */
const flatRecord = z.object({
  country_code: z.string(),
  state1: z.string().optional(),
  city: z.string().optional(),
});

export type Database = {
  path: string;
  metadata: { buildEpoch: Date; ipVersion: number };
  /** Returns the location of an address; `ipv4` is its number if it is one. Undefined when the database has none. */
  locate(address: string, ipv4: number | undefined): GeoLocation | undefined;
};

/** Reads a database. Throws when it cannot. */
export async function readDatabase(path: string): Promise<Database> {
  const bytes = await readFile(path);
  const reader = new Reader<Response>(bytes);
  const { metadata } = reader;
  const findRecord = createTree(bytes, metadata);
  // By the record's number; the address is any one with that record. Null for a record without a location.
  const locations = cached(LOCATIONS_MAX, (_record: number, address: string) => ({
    location: toLocation(reader.get(address)),
  }));
  return {
    path,
    metadata,
    locate(address, ipv4) {
      if (ipv4 !== undefined) {
        const record = findRecord(ipv4);
        return record === undefined ? undefined : locations(record, address).location;
      }
      // A database of only IPv4 would return the location of an unrelated IPv4 address.
      return metadata.ipVersion === 6 ? toLocation(reader.get(address)) : undefined;
    },
  };
}

/**
 * Opens the databases, and reads one again when its file is replaced or appears. Calls `onMissing` for a file that cannot be
 * read, and continues without it or with its earlier content: clicks without a location are better than no clicks.
 */
export async function openGeo(
  paths: readonly string[],
  onMissing: (path: string, error: unknown) => void,
  intervalMs = WATCH_INTERVAL_MS,
): Promise<Geo> {
  /** By path; a missing file may appear later. */
  const opened = new Map<string, Database>();
  let databases: Database[] = [];
  const read = async (path: string): Promise<void> => {
    try {
      opened.set(path, await readDatabase(path));
      databases = paths.flatMap((each) => opened.get(each) ?? []);
    } catch (error) {
      onMissing(path, error);
    }
  };
  for (const path of paths) {
    await read(path);
    watchFile(path, { persistent: false, interval: intervalMs }, () => void read(path));
  }

  return {
    locate(address) {
      const ipv4 = parseIpv4(address);
      if (ipv4 === undefined && !isIPv6(address)) return UNKNOWN_LOCATION;
      for (const database of databases) {
        const location = database.locate(address, ipv4);
        if (location !== undefined) return location;
      }
      return UNKNOWN_LOCATION;
    },
    databases: () => databases.map(({ path, metadata }) => ({ path, built: metadata.buildEpoch })),
  };
}

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
  if (geoip2?.country === undefined) return undefined;
  const country = normalizeCountry(geoip2.country.iso_code);
  const [subdivision] = geoip2.subdivisions ?? [];
  const name = subdivision?.names?.en ?? "";
  const code = subdivision?.iso_code;
  return {
    continent: geoip2.continent?.code ?? "",
    country,
    region: code === undefined ? name : `${country}-${code}`,
    region_name: name,
    city: geoip2.city?.names.en ?? "",
  };
}

/** Only countries, so that filters and rules can list all that there are. */
function normalizeCountry(text: string): string {
  const code = text.toUpperCase();
  return isCountry(code) ? code : UNKNOWN_COUNTRY;
}
