/** Clicks over time, with totals compared to the previous period. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import type { ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { useAccountContext } from "../../data/session.ts";
import { Card } from "../../ui/page.tsx";
import { QueryBoundary } from "../../ui/states.tsx";
import { CsvButton } from "./breakdown.tsx";
import { getPreviousQuery, type Range, type RangeQuery, toRangeQuery } from "./range.ts";
import { useBreakdown } from "./source.ts";
import { StatCards } from "./stat-cards.tsx";
import { TimeChart } from "./time-chart.tsx";

type TimeSeries = Pick<ResponseBody<"getSummary">, "summary" | "clicks_over_time">;

type ClicksCardProps<Data extends TimeSeries> = {
  /** Path of the analytics in the API. */
  path: string;
  range: Range;
  fetchSummary: (query: RangeQuery, options: { signal: AbortSignal }) => Promise<Data>;
  /** Renders more of the response below the card. */
  children?: (data: Data) => ReactNode;
};

export function ClicksCard<Data extends TimeSeries>({
  path,
  range,
  fetchSummary,
  children,
}: ClicksCardProps<Data>) {
  const { scope } = useAccountContext();
  const { query, csvPath } = useBreakdown({ path, range }, "", {}, (options) =>
    fetchSummary(toRangeQuery(range), options),
  );
  const labels = query.data?.clicks_over_time.map(({ date }) => date) ?? [];
  const previous = useQuery({
    queryKey: ["analytics", scope, path, "previous", range, labels[0], labels.length],
    enabled: query.data !== undefined && !query.isPlaceholderData && range.period !== "all",
    async queryFn({ signal }) {
      const query = getPreviousQuery(range, labels, Date.now());
      return query === undefined ? null : await fetchSummary(query, { signal });
    },
  });
  return (
    <>
      <Card title="Clicks" actions={<CsvButton path={csvPath} name="clicks" />}>
        <QueryBoundary query={query} label="clicks" lines={8}>
          {(data) => (
            <div aria-busy={query.isPlaceholderData}>
              <StatCards totals={data.summary} previous={previous.data?.summary} />
              <TimeChart points={data.clicks_over_time} />
            </div>
          )}
        </QueryBoundary>
      </Card>
      {query.data !== undefined && children?.(query.data)}
    </>
  );
}
