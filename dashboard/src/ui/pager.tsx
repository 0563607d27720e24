/**
 * Pages of a list by cursor. The URL contains the cursor; the browser's history contains those of
 * earlier pages.
 */
import { ChevronLeft, ChevronRight } from "lucide-react";
import { useHistoryState } from "wouter/use-browser-location";

import { t } from "../languages/translate.ts";
import { IconButton } from "./button.tsx";
import { useSearchState } from "./search-state.ts";

/** Moves between the pages of a list by cursor; renders nothing for a single page. */
export function Pager({ pages, next }: { pages: CursorPages; next: string | null }) {
  const { after, page, goForward, goBack } = pages;
  if (after === "" && next === null) return null;
  return (
    <nav className="pager" aria-label={t("ui.pager.label")}>
      <IconButton
        label={page === undefined ? t("ui.pager.first") : t("ui.pager.previous")}
        disabled={after === ""}
        onClick={goBack}
      >
        <ChevronLeft aria-hidden />
      </IconButton>
      {page !== undefined && <span>{t("ui.pager.page", { page })}</span>}
      <IconButton
        label={t("ui.pager.next")}
        disabled={next === null}
        onClick={() => goForward(next ?? "")}
      >
        <ChevronRight aria-hidden />
      </IconButton>
    </nav>
  );
}

/**
 * Pages of a list by cursor. The URL contains the cursor; the browser's history contains those of
 * earlier pages.
 */
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
