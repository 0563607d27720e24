/** Compiled extras of links: compiling them takes microseconds, so the links in use keep theirs. */
import { LRUCache } from "lru-cache";

import type { LinkExtras } from "../../shared/contracts/link-extras.ts";
import { compiledBytes } from "../../shared/decision/conditions.ts";
import { compileTargets, type Targets } from "../../shared/decision/targets.ts";
import { type CachedLink, parseExtras } from "../../shared/links-store/record.ts";

/** Extras, what they decide about requests, and the link's UTM parameters as a query. */
type CompiledExtras = { extras: LinkExtras; targets: Targets; utm: Buffer | undefined };

/** Most bytes of memory that compiled extras take, by {@link sizeOf}. */
const COMPILED_BYTES_MAX = 96 * 1024 * 1024;

/** What a link takes beside its conditions, and its JSON, which is kept as bytes and parsed. */
const LINK_BYTES = 500;

/** Returns the compiled extras of a link; undefined for one without. */
export type ExtrasOf = (link: Pick<CachedLink, "version" | "extras">) => CompiledExtras | undefined;

/** Compiled extras, the bytes that they were compiled from, and where in memory those were seen last. */
type Entry = { compiled: CompiledExtras; bytes: Buffer; block: Buffer; start: number };

/**
 * Creates the cache. It compares the bytes of a record that is not where it was, so that a version which comes back with
 * other extras gets those. One that is reads neither copy of them: in a cache of many links both are far from the processor.
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

/** Bytes of memory that an entry takes, roughly: four to twenty times its JSON. */
function sizeOf({ bytes, compiled }: Entry): number {
  const conditions = (compiled.extras.rules ?? []).flatMap((rule) => rule.conditions);
  return conditions.reduce(
    (size, condition) => size + compiledBytes(condition),
    LINK_BYTES + 2 * bytes.length,
  );
}
