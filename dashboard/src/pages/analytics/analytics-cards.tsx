/** The common parts of all analytics pages: period, filters, counts over time and breakdowns. */
import { Bookmark } from "lucide-react";
import { memo, type ReactNode, useDeferredValue, useState } from "react";
import { useLocation } from "wouter";
import { useSearch } from "wouter/use-browser-location";

import { t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { SavedDialog, useSaved } from "../saved-dialog.tsx";
import type { AnalyticsQuery } from "./analytics-path.ts";
import { AnalyticsQueryContext, setFilters, useAnalyticsQuery } from "./analytics-query.ts";
import { Campaigns, Devices, Languages, Places, Referrers } from "./breakdowns/breakdown-cards.tsx";
import { ClicksCard } from "./clicks-card.tsx";
import { FailuresCard } from "./failures-card.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { type Filter, toClickFilters } from "./filters.ts";
import { HeatMap } from "./heat-map.tsx";
import { PeriodBar } from "./period-bar.tsx";

/**
 * The controls follow the query at once. The cards follow in a deferred rendering, which yields to
 * keys and clicks and is repeated for a later query, so that no card delays them.
 */
export function AnalyticsCards({
  analyticsQuery,
  children,
}: {
  analyticsQuery: AnalyticsQuery;
  /** A card that only some of the pages have; the same element as long as nothing changes. */
  children: ReactNode;
}) {
  const drawn = useDeferredValue(analyticsQuery);
  return (
    <>
      <AnalyticsQueryContext value={analyticsQuery}>
        <PeriodBar>
          <SavedViews />
          <FilterBar />
        </PeriodBar>
      </AnalyticsQueryContext>
      <AnalyticsQueryContext value={drawn}>
        <Cards isOfTag={drawn.subject?.name === "tag"}>{children}</Cards>
      </AnalyticsQueryContext>
    </>
  );
}

/** Is not rendered with the controls; each card reads the query itself. */
const Cards = memo(function Cards({
  isOfTag,
  children,
}: {
  isOfTag: boolean;
  children: ReactNode;
}) {
  return (
    <>
      <ClicksCard />
      <div className="grid-cards">
        <Places />
        {children}
        <Devices />
        <Referrers />
        <Languages />
        <Campaigns />
        <HeatMap />
        {!isOfTag && <FailuresCard />}
      </div>
    </>
  );
});

/** Saved views of the account, and filters of links that select clicks as well. */
function SavedViews() {
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
