/** The analytics of all links together. */
import { useQueries } from "@tanstack/react-query";
import { Link as PageLink } from "wouter";

import type { ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { getClient } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
import { formatCount } from "../../ui/format.ts";
import { Card, Page } from "../../ui/page.tsx";
import { useSearchState } from "../../ui/search-state.ts";
import { Devices, Geography, Referrers } from "./breakdown-cards.tsx";
import { ClicksCard } from "./clicks-card.tsx";
import { PeriodBar } from "./period-bar.tsx";
import { readRange } from "./range.ts";
import { accountSource } from "./source.ts";

export function AccountAnalyticsPage() {
  const { scope } = useAccountContext();
  const [params] = useSearchState();
  const range = readRange(params);
  const source = accountSource(scope);
  return (
    <Page title="Analytics" intro="All links of this account, including deleted ones.">
      <PeriodBar range={range} />
      <ClicksCard
        path={source.path}
        range={range}
        fetchSummary={getClient(scope).analytics.account}
      >
        {({ top_links }) => (
          <Card title="Top links">
            <TopLinks links={top_links} />
          </Card>
        )}
      </ClicksCard>
      <div className="grid-cards">
        <Geography source={source} range={range} />
        <Devices source={source} range={range} />
        <Referrers source={source} range={range} />
      </div>
    </Page>
  );
}

function TopLinks({ links }: { links: ResponseBody<"getAccountSummary">["top_links"] }) {
  const { scope } = useAccountContext();
  const linkQueries = useQueries({
    queries: links.map(({ link_id }) => ({
      queryKey: ["link", scope, link_id],
      queryFn: () => getClient(scope).links.get(link_id),
    })),
  });
  if (links.length === 0) return <p className="no-data">No clicks in this period.</p>;
  const maxClicks = links[0]?.clicks ?? 1;
  return (
    <ol className="breakdown" aria-label="Top links">
      {links.map(({ link_id, clicks }, i) => {
        const link = linkQueries[i]?.data;
        return (
          <li key={link_id}>
            <span
              className="breakdown-bar"
              style={{ width: `${(clicks / maxClicks) * 100}%` }}
              aria-hidden
            />
            <span className="breakdown-name">
              {link === undefined ? (
                <span className="hint">
                  {linkQueries[i]?.error === null ? link_id : `${link_id} (deleted)`}
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
            <span className="breakdown-clicks">{formatCount(clicks)}</span>
          </li>
        );
      })}
    </ol>
  );
}
