/** Pages of a list by cursor. The cursor is in the URL; those of earlier pages are in the browser's history. */
import { useHistoryState } from "wouter/use-browser-location";

import { useSearchState } from "./search-state.ts";

export type CursorPages = {
  /** Where the page starts; "" for the start of the list. */
  after: string;
  /** The number of the page, if the user has come here from the first. */
  page: number | undefined;
  goForward: (next: string) => void;
  /** Goes to the page before; to the first when the page before is unknown. */
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

/** Reads the cursors of the pages before, from the first on. */
function readEarlier(state: unknown): string[] | undefined {
  if (typeof state !== "object" || state === null || !("earlier" in state)) return undefined;
  const { earlier } = state;
  return Array.isArray(earlier) ? earlier.map(String) : undefined;
}
