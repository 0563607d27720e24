/** The analytics of one link. */
import { useQuery } from "@tanstack/react-query";
import { ArrowLeft, ExternalLink } from "lucide-react";
import { Link as PageLink } from "wouter";

import { isNotFound } from "../../data/errors.ts";
import { getClient } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
import { CopyButton } from "../../ui/button.tsx";
import { Page } from "../../ui/page.tsx";
import { useSearchState } from "../../ui/search-state.ts";
import { Empty, QueryBoundary } from "../../ui/states.tsx";
import { Devices, Geography, Referrers } from "./breakdown-cards.tsx";
import { ClicksCard } from "./clicks-card.tsx";
import { LiveClicks } from "./live.tsx";
import { PeriodBar } from "./period-bar.tsx";
import { readRange } from "./range.ts";
import { linkSource } from "./source.ts";

export function LinkAnalyticsPage({ id }: { id: string }) {
  const { scope } = useAccountContext();
  const [params] = useSearchState();
  const range = readRange(params);
  const client = getClient(scope);
  const link = useQuery({
    queryKey: ["link", scope, id],
    queryFn: ({ signal }) => client.links.get(id, { signal }),
  });
  if (isNotFound(link.error)) {
    return (
      <Empty title="Link not found">
        <p>
          <PageLink href="/links">Back to links</PageLink>
        </p>
      </Empty>
    );
  }
  const source = linkSource(scope, id);
  return (
    <QueryBoundary query={link} label="the link" lines={8}>
      {(data) => (
        <Page
          title={data.title ?? data.short_url.replace(/^https?:\/\//, "")}
          intro={
            <span className="link-line">
              <a href={data.short_url} target="_blank" rel="noreferrer">
                {data.short_url} <ExternalLink aria-hidden />
              </a>
              <CopyButton text={data.short_url} label="Copy short URL" />
              <span className="destination" title={data.original_url}>
                {data.original_url}
              </span>
            </span>
          }
          actions={
            <PageLink href="/links" className="button button-plain">
              <ArrowLeft aria-hidden /> Links
            </PageLink>
          }
        >
          <PeriodBar range={range} />
          <ClicksCard
            path={source.path}
            range={range}
            fetchSummary={(query, options) => client.analytics.summary(id, query, options)}
          />
          <div className="grid-cards">
            <Geography source={source} range={range} />
            <Devices source={source} range={range} />
            <Referrers source={source} range={range} />
            <LiveClicks link={id} />
          </div>
        </Page>
      )}
    </QueryBoundary>
  );
}
