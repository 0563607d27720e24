/** The analytics of all links together; or of those with a tag, or on a domain. */
import { Link as PageLink } from "wouter";

import { Page } from "../../ui/page.tsx";
import { useLastSegment } from "../../ui/search-state.ts";
import { AnalyticsCards } from "./analytics-cards.tsx";
import { TopLinks } from "./breakdowns/breakdown-cards.tsx";
import { describeValue } from "./dimensions.ts";
import { only } from "./filters.ts";
import { useReadQuestion } from "./question.ts";
import { ShareButton } from "./shares/share-button.tsx";

export function AccountAnalyticsPage() {
  const question = useReadQuestion();
  return (
    <Page
      title="Analytics"
      intro="All links of this account, including deleted ones."
      actions={<ShareButton link={null} />}
    >
      <AnalyticsCards question={question}>
        <TopLinks />
      </AnalyticsCards>
    </Page>
  );
}

/** The analytics of the links that now have a tag, or are on a domain, which the URL's path ends with. */
export function PropertyAnalyticsPage({ name }: { name: "tag" | "domain" }) {
  const value = useLastSegment();
  const question = useReadQuestion(undefined, only(name, value));
  const list = `/links?${new URLSearchParams({ [name]: value }).toString()}`;
  return (
    <Page
      title={describeValue(name, value)}
      intro={name === "tag" ? "All links that have this tag now." : "All links on this domain."}
      actions={
        <PageLink href={list} className="button button-plain">
          Show its links
        </PageLink>
      }
    >
      {/* The key resets the cards' state when another tag or domain is opened. */}
      <AnalyticsCards key={value} question={question}>
        <TopLinks />
      </AnalyticsCards>
    </Page>
  );
}
