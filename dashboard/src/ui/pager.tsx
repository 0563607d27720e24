import { ChevronLeft, ChevronRight } from "lucide-react";

import { t } from "../languages/translate.ts";
import { IconButton } from "./button.tsx";
import type { CursorPages } from "./cursor-pages.ts";

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
