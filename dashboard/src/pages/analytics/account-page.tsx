/** The analytics of all links together. */
import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { Link as PageLink } from "wouter";

import type { Answer } from "../../../../clients/typescript/src/index.ts";
import { baseOf, clientOf } from "../../data/http.ts";
import { useHere } from "../../data/session.ts";
import { count } from "../../ui/format.ts";
import { Card, Page } from "../../ui/page.tsx";
import { useParams } from "../../ui/params.ts";
import { Show } from "../../ui/states.tsx";
import { CsvButton } from "./breakdown.tsx";
import { Figures } from "./figures.tsx";
import { PeriodBar } from "./period-bar.tsx";
import { previousQuery, queryOf, readRange } from "./range.ts";
import { TimeChart } from "./time-chart.tsx";

export function AccountAnalyticsPage() {
  const { place } = useHere();
  const [params] = useParams();
  const range = readRange(params);
  const { analytics } = clientOf(place);
  const query = useQuery({
    queryKey: ["analytics", place, "account", queryOf(range)],
    queryFn: ({ signal }) => analytics.account(queryOf(range), { signal }),
    placeholderData: keepPreviousData,
  });
  const labels = query.data?.clicks_over_time.map(({ date }) => date) ?? [];
  const before = useQuery({
    queryKey: ["analytics", place, "account before", range, labels[0], labels.length],
    enabled: query.data !== undefined && !query.isPlaceholderData && range.period !== "all",
    async queryFn({ signal }) {
      const earlier = previousQuery(range, labels, Date.now());
      return earlier === undefined ? null : await analytics.account(earlier, { signal });
    },
  });
  const search = new URLSearchParams(queryOf(range)).toString();
  return (
    <Page title="Analytics" intro="All links of the account, deleted ones included.">
      <PeriodBar range={range} />
      <Show query={query} what="analytics" lines={8}>
        {(data) => (
          <>
            <Card
              title="Clicks"
              actions={<CsvButton path={`${baseOf(place)}/v1/analytics?${search}`} name="clicks" />}
            >
              <div aria-busy={query.isPlaceholderData}>
                <Figures sums={data.summary} before={before.data?.summary} />
                <TimeChart points={data.clicks_over_time} />
              </div>
            </Card>
            <Card title="Links with the most clicks">
              <TopLinks links={data.top_links} />
            </Card>
          </>
        )}
      </Show>
    </Page>
  );
}

function TopLinks({ links }: { links: Answer<"getAccountSummary">["top_links"] }) {
  const { place } = useHere();
  const named = useQueries({
    queries: links.map(({ link_id }) => ({
      queryKey: ["link", place, link_id],
      queryFn: () => clientOf(place).links.get(link_id),
    })),
  });
  if (links.length === 0) return <p className="nothing">No clicks in this time.</p>;
  const most = links[0]?.clicks ?? 1;
  return (
    <ol className="parts" aria-label="Links with the most clicks">
      {links.map(({ link_id, clicks }, i) => {
        const link = named[i]?.data;
        return (
          <li key={link_id}>
            <span className="part-bar" style={{ width: `${(clicks / most) * 100}%` }} aria-hidden />
            <span className="part-name">
              {link === undefined ? (
                <span className="hint">
                  {named[i]?.error === null ? link_id : `${link_id} (deleted)`}
                </span>
              ) : (
                <>
                  <PageLink href={`/links/${link_id}`}>
                    {link.short_url.replace(/^https?:\/\//, "")}
                  </PageLink>
                  {link.title !== null && <small className="hint"> {link.title}</small>}
                </>
              )}
            </span>
            <span className="part-clicks">{count(clicks)}</span>
          </li>
        );
      })}
    </ol>
  );
}
