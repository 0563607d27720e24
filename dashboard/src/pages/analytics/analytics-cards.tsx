/** The common parts of all analytics pages: period, filters, counts over time and breakdowns. */
import { memo, type ReactNode, useDeferredValue } from "react";

import type { AnalyticsQuery } from "./analytics-path.ts";
import { AnalyticsQueryContext } from "./analytics-query.ts";
import { Campaigns, Devices, Languages, Places, Referrers } from "./breakdowns/breakdown-cards.tsx";
import { ClicksCard } from "./clicks-card.tsx";
import { FailuresCard } from "./failures-card.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { HeatMap } from "./heat-map.tsx";
import { PeriodBar } from "./period-bar.tsx";
import { SavedViews } from "./saved-views.tsx";

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
