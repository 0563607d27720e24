/** Clicks over time, with the sums of the time before beside. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import type { Answer } from "../../../../clients/typescript/src/index.ts";
import { useHere } from "../../data/session.ts";
import { Card } from "../../ui/page.tsx";
import { Show } from "../../ui/states.tsx";
import { CsvButton } from "./breakdown.tsx";
import { Figures } from "./figures.tsx";
import { previousQuery, queryOf, type Range, type RangeQuery } from "./range.ts";
import { usePart } from "./source.ts";
import { TimeChart } from "./time-chart.tsx";

type OverTime = Pick<Answer<"getSummary">, "summary" | "clicks_over_time">;

type ClicksCardProps<Data extends OverTime> = {
  /** Where the numbers are in the API. */
  path: string;
  range: Range;
  ask: (query: RangeQuery, options: { signal: AbortSignal }) => Promise<Data>;
  /** What else the answer is good for. */
  children?: (data: Data) => ReactNode;
};

export function ClicksCard<Data extends OverTime>({
  path,
  range,
  ask,
  children,
}: ClicksCardProps<Data>) {
  const { place } = useHere();
  const { query, csv } = usePart({ path, range }, "", {}, (options) =>
    ask(queryOf(range), options),
  );
  const labels = query.data?.clicks_over_time.map(({ date }) => date) ?? [];
  const before = useQuery({
    queryKey: ["analytics", place, path, "before", range, labels[0], labels.length],
    enabled: query.data !== undefined && !query.isPlaceholderData && range.period !== "all",
    async queryFn({ signal }) {
      const earlier = previousQuery(range, labels, Date.now());
      return earlier === undefined ? null : await ask(earlier, { signal });
    },
  });
  return (
    <>
      <Card title="Clicks" actions={<CsvButton path={csv} name="clicks" />}>
        <Show query={query} what="clicks" lines={8}>
          {(data) => (
            <div aria-busy={query.isPlaceholderData}>
              <Figures sums={data.summary} before={before.data?.summary} />
              <TimeChart points={data.clicks_over_time} />
            </div>
          )}
        </Show>
      </Card>
      {query.data !== undefined && children?.(query.data)}
    </>
  );
}
