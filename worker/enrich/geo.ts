/** Where an address is, by city databases in MMDB form. */
import { isIP } from "node:net";

import { open, type Reader, type Response } from "maxmind";
import * as z from "zod";

export type Place = {
  continent: string;
  /** ISO 3166-1 alpha-2; `ZZ` where unknown. */
  country: string;
  /** ISO 3166-2 where the data has a code, else the name. */
  region: string;
  region_name: string;
  city: string;
};

export const UNKNOWN_PLACE: Place = {
  continent: "",
  country: "ZZ",
  region: "",
  region_name: "",
  city: "",
};

export type Geo = {
  locate(address: string): Place;
  /** The databases in use, with the day their data was built. */
  databases(): { path: string; built: Date }[];
};

/** GeoIP2 City's record: GeoLite2-City, DB-IP's own City Lite. */
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

/** The flat record of ip-location-db's city files. */
const flatRecord = z.object({
  country_code: z.string(),
  state1: z.string().optional(),
  city: z.string().optional(),
});

/**
 * Opens the databases; a file that is replaced later is read anew. Files that cannot be opened are
 * told to `onMissing` and left out: clicks are counted without a place rather than not at all.
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
        cache: { max: 10_000 },
      });
      readers.push({ path, reader });
    } catch (error) {
      onMissing(path, error);
    }
  }

  return {
    locate(address) {
      const version = isIP(address);
      if (version === 0) return UNKNOWN_PLACE;
      for (const { reader } of readers) {
        // A database of IPv4 alone would read an IPv6 address as some other one.
        if (version === 6 && reader.metadata.ipVersion !== 6) continue;
        const place = placeOf(reader.get(address));
        if (place !== undefined) return place;
      }
      return UNKNOWN_PLACE;
    },
    databases: () =>
      readers.map(({ path, reader }) => ({ path, built: reader.metadata.buildEpoch })),
  };
}

/** Reads either record; undefined when the database knows nothing of the address. */
export function placeOf(record: unknown): Place | undefined {
  const flat = flatRecord.safeParse(record).data;
  if (flat !== undefined) {
    const region = flat.state1 ?? "";
    return {
      continent: "",
      country: countryOf(flat.country_code),
      region,
      region_name: region,
      city: flat.city ?? "",
    };
  }
  const geoip2 = geoip2Record.safeParse(record).data;
  if (geoip2?.country === undefined) return undefined;
  const country = countryOf(geoip2.country.iso_code);
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

const countryOf = (code: string): string =>
  /^[A-Za-z]{2}$/.test(code) ? code.toUpperCase() : UNKNOWN_PLACE.country;
