/**
 * Parsed settings of links. To parse them takes microseconds, so they are kept for links in use.
 * Rules are no part of them: they are evaluated where they are.
 */
import { LRUCache } from "lru-cache";

import type { ByteSlice } from "../../shared/bytes.ts";
import { SplitArms } from "../../shared/decision/targets.ts";
import {
  type CachedLink,
  type CachedSettings,
  parseSettings,
} from "../../shared/links-store/record.ts";

/** A link's redirect settings, its split, and its destination's UTM parameters as a query. */
export type LinkSettings = {
  settings: CachedSettings;
  split: SplitArms | undefined;
  utm: Buffer | undefined;
};

/** Maximum bytes of memory for settings, as measured. */
const SETTINGS_BYTES_MAX = 32 * 1024 * 1024;

/**
 * The fixed size of an entry; its JSON, kept as bytes and parsed, comes on top several times.
 */
const LINK_BYTES = 500;
const JSON_FACTOR = 4;

/** The JSON of a link that has nothing but rules. */
const NONE = 2;

/**
 * Settings, the bytes that they were parsed from, and where in memory those were last seen.
 */
type Entry = { parsed: LinkSettings; bytes: Buffer; block: Buffer; start: number };

export class SettingsCache {
  readonly #cache = new LRUCache<number, Entry>({
    maxSize: SETTINGS_BYTES_MAX,
    sizeCalculation: ({ bytes }) => LINK_BYTES + JSON_FACTOR * bytes.length,
  });

  /**
   * The settings of a link; undefined for one without. If a record has moved, compares its bytes,
   * so that a version that returns with other settings is parsed again. If it has not moved, reads
   * neither copy of the bytes: in a cache of many links both are rarely in the processor's cache.
   */
  get({ version, settings }: CachedLink): LinkSettings | undefined {
    if (settings === null) return undefined;
    if (settings.end - settings.start === NONE) return EMPTY;
    const known = this.#cache.get(version);
    if (known !== undefined) {
      if (known.block === settings.bytes && known.start === settings.start) return known.parsed;
      if (known.bytes.compare(settings.bytes, settings.start, settings.end) === 0) {
        known.block = settings.bytes;
        known.start = settings.start;
        return known.parsed;
      }
    }
    const parsed = toSettings(settings);
    this.#cache.set(version, {
      parsed,
      bytes: Buffer.from(settings.bytes.subarray(settings.start, settings.end)),
      block: settings.bytes,
      start: settings.start,
    });
    return parsed;
  }
}

const EMPTY: LinkSettings = { settings: {}, split: undefined, utm: undefined };

function toSettings(json: ByteSlice): LinkSettings {
  const { utm, ...settings } = parseSettings(json);
  return {
    settings,
    split: settings.split === undefined ? undefined : new SplitArms(settings.split),
    utm: utm === undefined ? undefined : Buffer.from(utm),
  };
}
