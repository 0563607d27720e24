/** Locates visitors for rules by country and continent. */
import { type Geo, openGeo } from "../../shared/visitors/geo.ts";
import type { Locate } from "./request-facts.ts";

export type RuleGeo = {
  locate: Locate;
  /** Number of databases, and how often a rule needed a location without any. */
  stats(): { databases: number; undetermined: number };
  /** Why rules by country do not match; undefined if no link has needed one. */
  warning(): string | undefined;
};

/** Opens the databases; without one nothing is located. */
export async function openRuleGeo(
  paths: readonly string[],
  onMissing: (path: string, error: unknown) => void,
): Promise<RuleGeo> {
  const geo: Geo | undefined = paths.length === 0 ? undefined : await openGeo(paths, onMissing);
  const databases = geo?.databases().length ?? 0;
  let undetermined = 0;
  return {
    locate(address) {
      if (geo !== undefined && databases > 0) return geo.locate(address);
      undetermined++;
      return undefined;
    },
    stats: () => ({ databases, undetermined }),
    warning: () =>
      undetermined === 0
        ? undefined
        : "no GeoIP database (GEOIP_DATABASES): rules by country or continent do not match",
  };
}
