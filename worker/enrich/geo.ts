/** GeoIP: locates IP addresses with city databases in MMDB format. */
import { isIP } from "node:net";

import { open, type Reader, type Response } from "maxmind";
import * as z from "zod";

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
  country: "ZZ",
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

/** Records of databases cached: decoding one takes some microseconds. */
const RECORDS_MAX = 50_000;

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

/**
 * Opens the databases, and reloads one whose file is replaced. Calls `onMissing` for a file that cannot be opened and
 * continues without it, as clicks without a location are better than none.
 */
export async function openGeo(
  paths: readonly string[],
  onMissing: (path: string, error: unknown) => void,
): Promise<Geo> {
  const readers: { path: string; reader: Reader<Response> }[] = [];
  for (const path of paths) {
    try {
      const reader = await open<Response>(path, {
        watchForUpdates: true,
        watchForUpdatesNonPersistent: true,
        cache: { max: RECORDS_MAX },
      });
      readers.push({ path, reader });
    } catch (error) {
      onMissing(path, error);
    }
  }

  // A cached record is one object, so its location is converted once. A replaced database has records of its own.
  const locations = new WeakMap<object, GeoLocation>();
  function toKnownLocation(record: object | null): GeoLocation | undefined {
    if (record === null) return undefined;
    const known = locations.get(record);
    if (known !== undefined) return known;
    const location = toLocation(record);
    if (location !== undefined) locations.set(record, location);
    return location;
  }

  return {
    locate(address) {
      const version = isIP(address);
      if (version === 0) return UNKNOWN_LOCATION;
      for (const { reader } of readers) {
        // A database of only IPv4 would take an IPv6 address for an unrelated IPv4 one.
        if (version === 6 && reader.metadata.ipVersion !== 6) continue;
        const location = toKnownLocation(reader.get(address));
        if (location !== undefined) return location;
      }
      return UNKNOWN_LOCATION;
    },
    databases: () =>
      readers.map(({ path, reader }) => ({ path, built: reader.metadata.buildEpoch })),
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

const normalizeCountry = (code: string): string =>
  /^[A-Za-z]{2}$/.test(code) ? code.toUpperCase() : UNKNOWN_LOCATION.country;
