import { ChevronLeft, ChevronRight } from "lucide-react";

import { IconButton } from "./button.tsx";
import type { CursorPages } from "./cursor-pages.ts";

/** Moves between the pages of a list by cursor; renders nothing for a single page. */
export function Pager({ pages, next }: { pages: CursorPages; next: string | null }) {
  const { after, page, goForward, goBack } = pages;
  if (after === "" && next === null) return null;
  return (
    <nav className="pager" aria-label="Pages">
      <IconButton
        label={page === undefined ? "First page" : "Previous page"}
        disabled={after === ""}
        onClick={goBack}
      >
        <ChevronLeft aria-hidden />
      </IconButton>
      {page !== undefined && <span>Page {page}</span>}
      <IconButton label="Next page" disabled={next === null} onClick={() => goForward(next ?? "")}>
        <ChevronRight aria-hidden />
      </IconButton>
    </nav>
  );
}
