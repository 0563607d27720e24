/** What all analytics pages have in common: period, filters, figures over time and breakdowns. */
import type { ReactNode } from "react";

import { Campaigns, Devices, Languages, Places, Referrers } from "./breakdowns/breakdown-cards.tsx";
import { ClicksCard } from "./clicks-card.tsx";
import { FailuresCard } from "./failures-card.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { HeatMap } from "./heat-map.tsx";
import { PeriodBar } from "./period-bar.tsx";
import { type Question, QuestionContext } from "./question.ts";
import { SavedViews } from "./saved-views.tsx";

export const AnalyticsCards = ({
  question,
  children,
}: {
  question: Question;
  /** Cards that only some of the pages have. */
  children: ReactNode;
}) => (
  <QuestionContext value={question}>
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
      {question.subject?.name !== "tag" && <FailuresCard />}
    </div>
  </QuestionContext>
);
