/** Saved views of the account, and filters of links that select clicks as well. */
import { Bookmark } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import { useSearch } from "wouter/use-browser-location";

import { t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { SavedDialog, useSaved } from "../saved-dialog.tsx";
import { setFilters, useAnalyticsQuery } from "./analytics-query.ts";
import { type Filter, toClickFilters } from "./filters.ts";

export function SavedViews() {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>
        <Bookmark aria-hidden /> {t("saved.views.open")}
      </Button>
      {open && <ViewsDialog onClose={() => setOpen(false)} />}
    </>
  );
}

function ViewsDialog({ onClose }: { onClose: () => void }) {
  const { link } = useAnalyticsQuery();
  const [, navigate] = useLocation();
  const search = useSearch();
  function openView(query: string): void {
    const params = new URLSearchParams(query);
    // Analytics of a single link have neither filter.
    if (link !== undefined) for (const name of ["tag", "domain"]) params.delete(name);
    // "~" makes the path absolute.
    navigate(`~${location.pathname}?${params.toString()}`);
  }
  function showClicks(filters: readonly Filter[]): void {
    setFilters(filters);
    onClose();
  }
  return (
    <SavedDialog
      kind="views"
      // As a URL has it: percent-encoded.
      query={new URLSearchParams(search).toString()}
      onOpen={openView}
      onClose={onClose}
    >
      {link === undefined && <LinkFilters onOpen={showClicks} />}
    </SavedDialog>
  );
}

/** The saved filters of links that say the same of clicks. */
function LinkFilters({ onOpen }: { onOpen: (filters: readonly Filter[]) => void }) {
  const saved = useSaved("linkFilters");
  const usable = (saved.data ?? []).flatMap(({ name, query }) => {
    const filters = toClickFilters(query);
    return filters === undefined ? [] : [{ name, filters }];
  });
  if (usable.length === 0) return null;
  return (
    <>
      <h3>{t("saved.linkFilters.title")}</h3>
      <ul className="view-list" aria-label={t("saved.linkFilters.title")}>
        {usable.map(({ name, filters }) => (
          <li key={name}>
            <button type="button" className="value-button" onClick={() => onOpen(filters)}>
              {name}
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
