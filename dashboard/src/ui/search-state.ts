/** View state in the URL's query, so that a view can be shared and restored by going back. */
import { useEffect, useMemo, useState } from "react";
import { navigate, usePathname, useSearch } from "wouter/use-browser-location";

import type { SearchUpdate } from "../data/scope.ts";

type HistoryEntry = {
  /** Stored with the entry in the browser's history, but not in the URL. */
  state?: unknown;
  /** Replaces the entry in the browser's history instead of adding one. */
  replace?: boolean;
};

/** Returns the query parameters, and {@link updateSearch}. */
export function useSearchState(): [URLSearchParams, typeof updateSearch] {
  const search = useSearch();
  return [useMemo(() => new URLSearchParams(search), [search]), updateSearch];
}

/** Changes some query parameters of the URL. */
export function updateSearch(update: SearchUpdate, options?: HistoryEntry): void {
  const after = updateParams(new URLSearchParams(location.search), update);
  navigate(`${location.pathname}${after.size === 0 ? "" : `?${after.toString()}`}`, options);
}

/** Returns a copy of the parameters with new values of some. */
export function updateParams(params: URLSearchParams, update: SearchUpdate): URLSearchParams {
  const after = new URLSearchParams(params);
  for (const [name, value] of Object.entries(update)) {
    after.delete(name);
    const values = typeof value === "object" ? value : [value ?? ""].filter(Boolean);
    for (const text of values) after.append(name, text);
  }
  return after;
}

/** Returns the last segment of the URL's path. */
export function useLastSegment(): string {
  const segment = usePathname().split("/").at(-1) ?? "";
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/**
 * Pause in typing after which a search is sent: shorter than a hesitation, longer than the time
 * between two keys.
 */
export const DEBOUNCE_MS = 250;

/** Returns a value after it has stayed unchanged for {@link DEBOUNCE_MS}. */
export function useDebounced<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
