/**
 * Compiled extras of links. Compiling them takes microseconds, so they are cached for links in use.
 */
import { LRUCache } from "lru-cache";

import type { LinkExtras } from "../../shared/contracts/link-extras.ts";
import { compiledBytes } from "../../shared/decision/conditions.ts";
import { compileTargets, type Targets } from "../../shared/decision/targets.ts";
import { type CachedLink, parseExtras } from "../../shared/links-store/record.ts";

/** Extras, the compiled rules, and the link's UTM parameters as a query. */
type CompiledExtras = { extras: LinkExtras; targets: Targets; utm: Buffer | undefined };

/** Maximum bytes of memory for compiled extras, by {@link sizeOf}. */
const COMPILED_BYTES_MAX = 96 * 1024 * 1024;

/**
 * The fixed size of an entry; its conditions and its JSON, kept as bytes and parsed, come on top.
 */
const LINK_BYTES = 500;

/** Returns the compiled extras of a link; undefined for one without. */
export type ExtrasOf = (link: Pick<CachedLink, "version" | "extras">) => CompiledExtras | undefined;

/**
 * Compiled extras, the bytes that they were compiled from, and where in memory those were last
 * seen.
 */
type Entry = { compiled: CompiledExtras; bytes: Buffer; block: Buffer; start: number };

/**
 * Creates the cache. If a record has moved, compares its bytes, so that a version that returns with
 * other extras is compiled again. If it has not moved, reads neither copy of the bytes: in a cache
 * of many links both are rarely in the processor's cache.
 */
export function createExtrasCache(): ExtrasOf {
  const cache = new LRUCache<number, Entry>({
    maxSize: COMPILED_BYTES_MAX,
    sizeCalculation: sizeOf,
  });
  return ({ version, extras }) => {
    if (extras === null) return undefined;
    const known = cache.get(version);
    if (known !== undefined) {
      if (known.block === extras.bytes && known.start === extras.start) return known.compiled;
      if (known.bytes.compare(extras.bytes, extras.start, extras.end) === 0) {
        known.block = extras.bytes;
        known.start = extras.start;
        return known.compiled;
      }
    }
    const { utm, ...parsed } = parseExtras(extras);
    const compiled = {
      extras: parsed,
      targets: compileTargets(parsed),
      utm: utm === undefined ? undefined : Buffer.from(utm),
    };
    cache.set(version, {
      compiled,
      bytes: Buffer.from(extras.bytes.subarray(extras.start, extras.end)),
      block: extras.bytes,
      start: extras.start,
    });
    return compiled;
  };
}

/** Approximate bytes of memory of an entry: four to twenty times its JSON. */
function sizeOf({ bytes, compiled }: Entry): number {
  const conditions = (compiled.extras.rules ?? []).flatMap((rule) => rule.conditions);
  return conditions.reduce(
    (size, condition) => size + compiledBytes(condition),
    LINK_BYTES + 2 * bytes.length,
  );
}
