/** Clicks over time, with totals, compared to an earlier period. */
import type { ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { formatDate } from "../../ui/format.ts";
import { Card } from "../../ui/page.tsx";
import { QueryBoundary } from "../../ui/states.tsx";
import { summaryParams, useAnalytics, useAnalyticsQuery } from "./analytics-query.ts";
import { CsvButton } from "./csv-button.tsx";
import { ComparedStatCards } from "./stat-cards.tsx";
import { TimeChart } from "./time-chart.tsx";

export function ClicksCard() {
  const analyticsQuery = useAnalyticsQuery();
  const { query, csvPath } = useAnalytics<ResponseBody<"getLinkAnalytics">>(
    "",
    summaryParams(analyticsQuery),
  );
  return (
    <Card title="Clicks" actions={<CsvButton path={csvPath} name="clicks" />}>
      <QueryBoundary query={query} label="clicks" lines={8}>
        {({ summary, clicks_over_time, comparison, complete_from }) => (
          <div aria-busy={query.isPlaceholderData}>
            <ComparedStatCards totals={summary} previous={comparison?.summary} />
            <TimeChart points={clicks_over_time} earlier={comparison?.clicks_over_time} />
            {complete_from !== undefined && (
              <p className="hint">
                Single clicks are no longer stored from before {formatDate(complete_from)}: with
                filters, counts begin there.
              </p>
            )}
          </div>
        )}
      </QueryBoundary>
    </Card>
  );
}
