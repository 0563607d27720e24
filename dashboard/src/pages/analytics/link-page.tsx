/** The analytics of one link. */
import { useQuery } from "@tanstack/react-query";
import { ArrowLeft, ExternalLink, Split } from "lucide-react";
import { Link as PageLink } from "wouter";

import { readableUrl } from "../../../../shared/contracts/readable-host.ts";
import { isNotFound } from "../../data/errors.ts";
import { getClient } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
import { CopyButton } from "../../ui/button.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, QueryBoundary } from "../../ui/states.tsx";
import { StateBadges, StateMeanings } from "../links/state-badges.tsx";
import { AnalyticsCards } from "./analytics-cards.tsx";
import { LiveClicks } from "./live.tsx";
import { useReadQuestion } from "./question.ts";
import { ShareButton } from "./shares/share-button.tsx";

export function LinkAnalyticsPage({ id }: { id: string }) {
  const { scope } = useAccountContext();
  const question = useReadQuestion(id);
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
  return (
    <QueryBoundary query={link} label="the link" lines={8}>
      {(data) => (
        <Page
          title={data.title ?? readableUrl(data.short_url)}
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
            <>
              <StateBadges link={data} />
              <ShareButton link={id} />
              <PageLink href={`/links/${id}/rules`} className="button button-plain">
                <Split aria-hidden /> Rules
              </PageLink>
              <PageLink href="/links" className="button button-plain">
                <ArrowLeft aria-hidden /> Links
              </PageLink>
            </>
          }
        >
          <StateMeanings link={data} />
          <AnalyticsCards question={question}>
            <LiveClicks link={id} />
          </AnalyticsCards>
        </Page>
      )}
    </QueryBoundary>
  );
}
