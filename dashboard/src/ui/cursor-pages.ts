/**
 * Pages of a list by cursor. The URL contains the cursor; the browser's history contains those of
 * earlier pages.
 */
import { useHistoryState } from "wouter/use-browser-location";

import { useSearchState } from "./search-state.ts";

export type CursorPages = {
  /** Where the page starts; "" for the start of the list. */
  after: string;
  /** The page number, if the user has come from the first page. */
  page: number | undefined;
  goForward: (next: string) => void;
  /** Goes to the previous page, or to the first if the previous one is unknown. */
  goBack: () => void;
};

export function useCursorPages(): CursorPages {
  const [params, setParams] = useSearchState();
  const after = params.get("after") ?? "";
  const state = useHistoryState<unknown>();
  const earlier = after === "" ? [] : readEarlier(state);
  return {
    after,
    page: earlier === undefined ? undefined : earlier.length + 1,
    goForward: (next) =>
      setParams(
        { after: next },
        { state: earlier === undefined ? null : { earlier: [...earlier, after] } },
      ),
    goBack: () =>
      setParams({ after: earlier?.at(-1) }, { state: { earlier: earlier?.slice(0, -1) ?? [] } }),
  };
}

/** Reads the cursors of the previous pages, the first one first. */
function readEarlier(state: unknown): string[] | undefined {
  if (typeof state !== "object" || state === null || !("earlier" in state)) return undefined;
  const { earlier } = state;
  return Array.isArray(earlier) ? earlier.map(String) : undefined;
}
