/** Clicks over time, with totals, compared to an earlier period. */
import { memo } from "react";

import type { ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { t } from "../../languages/translate.ts";
import { formatDate } from "../../ui/format.ts";
import { Card } from "../../ui/page.tsx";
import { QueryBoundary } from "../../ui/states.tsx";
import { summaryParams } from "./analytics-path.ts";
import { useAnalytics, useAnalyticsQuery } from "./analytics-query.ts";
import { CsvButton } from "./csv-button.tsx";
import { ComparedStatCards } from "./stat-cards.tsx";
import { TimeChart } from "./time-chart.tsx";

type Counts = ResponseBody<"getLinkAnalytics">;

export function ClicksCard() {
  const analyticsQuery = useAnalyticsQuery();
  const { query, csvPath } = useAnalytics<Counts>("", summaryParams(analyticsQuery));
  return (
    <Card
      title={t("statistics.clicks")}
      actions={<CsvButton path={csvPath} name={t("analytics.names.clicks")} file="clicks" />}
    >
      <QueryBoundary query={query} label={t("analytics.names.clicks")} lines={8}>
        {(counts) => <Counts counts={counts} />}
      </QueryBoundary>
    </Card>
  );
}

/** Is rendered again only when the counts have changed. */
const Counts = memo(function Counts({ counts }: { counts: Counts }) {
  const { summary, clicks_over_time, comparison, complete_from } = counts;
  return (
    <>
      <ComparedStatCards totals={summary} previous={comparison?.summary} />
      <TimeChart points={clicks_over_time} earlier={comparison?.clicks_over_time} />
      {complete_from !== undefined && (
        <p className="hint">{t("analytics.completeFrom", { date: formatDate(complete_from) })}</p>
      )}
    </>
  );
});
