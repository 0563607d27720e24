/** Compiled extras of links: compiling them takes microseconds, so the links in use keep theirs. */
import { LRUCache } from "lru-cache";

import type { LinkExtras } from "../../shared/contracts/link-extras.ts";
import { compileTargets, type Targets } from "../../shared/decision/targets.ts";
import { type CachedLink, parseExtras } from "./record.ts";

/** Extras, what they decide about requests, and the link's UTM parameters as a query. */
type CompiledExtras = { extras: LinkExtras; targets: Targets; utm: Buffer | undefined };

/** Most bytes of extras, as JSON, whose compiled form is kept; compiled they take some times as much. */
const EXTRAS_BYTES_MAX = 8 * 1024 * 1024;

/** Returns the compiled extras of a link; undefined for one without. */
export type ExtrasOf = (link: Pick<CachedLink, "version" | "extras">) => CompiledExtras | undefined;

/** Creates the cache. It compares bytes, so that a version which comes back with other extras gets those. */
export function createExtrasCache(): ExtrasOf {
  const cache = new LRUCache<number, { bytes: Buffer; compiled: CompiledExtras }>({
    maxSize: EXTRAS_BYTES_MAX,
    sizeCalculation: ({ bytes }) => bytes.length,
  });
  return ({ version, extras }) => {
    if (extras === null) return undefined;
    const known = cache.get(version);
    if (known !== undefined && known.bytes.compare(extras.bytes, extras.start, extras.end) === 0)
      return known.compiled;
    const { utm, ...parsed } = parseExtras(extras);
    const compiled = {
      extras: parsed,
      targets: compileTargets(parsed),
      utm: utm === undefined ? undefined : Buffer.from(utm),
    };
    cache.set(version, {
      bytes: Buffer.from(extras.bytes.subarray(extras.start, extras.end)),
      compiled,
    });
    return compiled;
  };
}
