/** The analytics of all links together. */
import { useQueries } from "@tanstack/react-query";
import { Link as PageLink } from "wouter";

import type { Answer } from "../../../../clients/typescript/src/index.ts";
import { clientOf } from "../../data/http.ts";
import { useHere } from "../../data/session.ts";
import { count } from "../../ui/format.ts";
import { Card, Page } from "../../ui/page.tsx";
import { useParams } from "../../ui/params.ts";
import { Devices, Geography, Referrers } from "./breakdown-cards.tsx";
import { ClicksCard } from "./clicks-card.tsx";
import { PeriodBar } from "./period-bar.tsx";
import { readRange } from "./range.ts";
import { accountSource } from "./source.ts";

export function AccountAnalyticsPage() {
  const { place } = useHere();
  const [params] = useParams();
  const range = readRange(params);
  const source = accountSource(place);
  return (
    <Page title="Analytics" intro="All links of the account, deleted ones included.">
      <PeriodBar range={range} />
      <ClicksCard path={source.path} range={range} ask={clientOf(place).analytics.account}>
        {({ top_links }) => (
          <Card title="Links with the most clicks">
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
