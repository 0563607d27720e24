import { ChevronLeft, ChevronRight } from "lucide-react";

import { IconButton } from "./button.tsx";

export function Pager({
  page,
  pages,
  onPage,
}: {
  page: number;
  pages: number;
  onPage: (page: number) => void;
}) {
  if (pages <= 1 && page === 1) return null;
  return (
    <nav className="pager" aria-label="Pages">
      <IconButton label="Previous page" disabled={page <= 1} onClick={() => onPage(page - 1)}>
        <ChevronLeft aria-hidden />
      </IconButton>
      <span>
        Page {page} of {pages}
      </span>
      <IconButton label="Next page" disabled={page >= pages} onClick={() => onPage(page + 1)}>
        <ChevronRight aria-hidden />
      </IconButton>
    </nav>
  );
}
