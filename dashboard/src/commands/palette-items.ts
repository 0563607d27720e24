/** The items of the palette, and which of them match the typed text. */
import { completeUrl, isWebUrl } from "../data/destination.ts";

export type PaletteItem = {
  /** Identifies it in the list. */
  id: string;
  name: string;
  /** Further words that find it, or other information about it. */
  detail: string;
  onSelect: () => void;
};

/**
 * Returns the items whose name or detail contains every word of a text, in their order; all for an
 * empty text.
 */
export function matchItems(items: readonly PaletteItem[], text: string): PaletteItem[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return items.filter(({ name, detail }) => {
    const own = `${name} ${detail}`.toLowerCase();
    return words.every((word) => own.includes(word));
  });
}

/** Returns the text as the destination of a new link; undefined if it is not one. */
export function readDestination(text: string): string | undefined {
  const url = completeUrl(text);
  return isWebUrl(url) ? url : undefined;
}

/**
 * Returns the index that an arrow key moves to, wrapping around at the ends; undefined for other
 * keys.
 */
export function moveActive(key: string, active: number, count: number): number | undefined {
  if (count === 0) return undefined;
  const targets: Readonly<Record<string, number>> = {
    ArrowDown: (active + 1) % count,
    ArrowUp: (active - 1 + count) % count,
  };
  return targets[key];
}
