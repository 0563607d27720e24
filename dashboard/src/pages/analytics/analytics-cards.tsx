/** The common parts of all analytics pages: period, filters, counts over time and breakdowns. */
import type { ReactNode } from "react";

import { type AnalyticsQuery, AnalyticsQueryContext } from "./analytics-query.ts";
import { Campaigns, Devices, Languages, Places, Referrers } from "./breakdowns/breakdown-cards.tsx";
import { ClicksCard } from "./clicks-card.tsx";
import { FailuresCard } from "./failures-card.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { HeatMap } from "./heat-map.tsx";
import { PeriodBar } from "./period-bar.tsx";
import { SavedViews } from "./saved-views.tsx";

export const AnalyticsCards = ({
  analyticsQuery,
  children,
}: {
  analyticsQuery: AnalyticsQuery;
  /** Cards that only some of the pages have. */
  children: ReactNode;
}) => (
  <AnalyticsQueryContext value={analyticsQuery}>
    <PeriodBar>
      <SavedViews />
    </PeriodBar>
    <FilterBar />
    <ClicksCard />
    <div className="grid-cards">
      <Places />
      {children}
      <Devices />
      <Referrers />
      <Languages />
      <Campaigns />
      <HeatMap />
      {analyticsQuery.subject?.name !== "tag" && <FailuresCard />}
    </div>
  </AnalyticsQueryContext>
);
