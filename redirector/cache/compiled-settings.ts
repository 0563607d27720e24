/**
 * Compiled settings of links. Compiling them takes microseconds, so they are cached for links in
 * use.
 */
import { LRUCache } from "lru-cache";

import type { RedirectSettings } from "../../shared/contracts/redirect-settings.ts";
import { compiledBytes } from "../../shared/decision/conditions.ts";
import { compileTargets, type Targets } from "../../shared/decision/targets.ts";
import { type CachedLink, parseSettings } from "../../shared/links-store/record.ts";

/** A link's redirect settings, its compiled rules, and the link's UTM parameters as a query. */
type CompiledSettings = { settings: RedirectSettings; targets: Targets; utm: Buffer | undefined };

/** Maximum bytes of memory for compiled settings, by {@link sizeOf}. */
export const COMPILED_BYTES_MAX = 96 * 1024 * 1024;

/**
 * The fixed size of an entry; its conditions and its JSON, kept as bytes and parsed, come on top.
 */
const LINK_BYTES = 500;

/** Returns the compiled settings of a link; undefined for one without. */
export type SettingsOf = (
  link: Pick<CachedLink, "version" | "settings">,
) => CompiledSettings | undefined;

/**
 * Compiled settings, the bytes that they were compiled from, and where in memory those were last
 * seen.
 */
type Entry = { compiled: CompiledSettings; bytes: Buffer; block: Buffer; start: number };

/**
 * Creates the cache. If a record has moved, compares its bytes, so that a version that returns with
 * other settings is compiled again. If it has not moved, reads neither copy of the bytes: in a
 * cache of many links both are rarely in the processor's cache.
 */
export function createSettingsCache(bytesMax = COMPILED_BYTES_MAX): SettingsOf {
  const cache = new LRUCache<number, Entry>({
    maxSize: bytesMax,
    sizeCalculation: sizeOf,
  });
  return ({ version, settings }) => {
    if (settings === null) return undefined;
    const known = cache.get(version);
    if (known !== undefined) {
      if (known.block === settings.bytes && known.start === settings.start) return known.compiled;
      if (known.bytes.compare(settings.bytes, settings.start, settings.end) === 0) {
        known.block = settings.bytes;
        known.start = settings.start;
        return known.compiled;
      }
    }
    const { utm, ...parsed } = parseSettings(settings);
    const compiled = {
      settings: parsed,
      targets: compileTargets(parsed),
      utm: utm === undefined ? undefined : Buffer.from(utm),
    };
    cache.set(version, {
      compiled,
      bytes: Buffer.from(settings.bytes.subarray(settings.start, settings.end)),
      block: settings.bytes,
      start: settings.start,
    });
    return compiled;
  };
}

/** Approximate bytes of memory of an entry: four to twenty times its JSON. */
function sizeOf({ bytes, compiled }: Entry): number {
  const conditions = (compiled.settings.rules ?? []).flatMap((rule) => rule.conditions);
  return conditions.reduce(
    (size, condition) => size + compiledBytes(condition),
    LINK_BYTES + 2 * bytes.length,
  );
}
