/** The analytics of all links together, or of those with a tag or on a domain. */
import { Link as PageLink } from "wouter";

import { describeValue } from "../../../../shared/statistics/values.ts";
import { statisticsLanguage, t } from "../../languages/translate.ts";
import { Page } from "../../ui/page.tsx";
import { useLastSegment } from "../../ui/search-state.ts";
import { AnalyticsCards } from "./analytics-cards.tsx";
import { useReadAnalyticsQuery } from "./analytics-query.ts";
import { TopLinks } from "./breakdowns/breakdown-cards.tsx";
import { only } from "./filters.ts";
import { ShareButton } from "./shares/share-button.tsx";

const TOP_LINKS = <TopLinks />;

export function AccountAnalyticsPage() {
  const analyticsQuery = useReadAnalyticsQuery();
  return (
    <Page
      title={t("shell.pages.analytics")}
      intro={t("analytics.allLinks")}
      actions={<ShareButton link={null} />}
    >
      <AnalyticsCards analyticsQuery={analyticsQuery}>{TOP_LINKS}</AnalyticsCards>
    </Page>
  );
}

/**
 * The analytics of the links that currently have a tag, or are on a domain; the URL's path ends
 * with its name.
 */
export function PropertyAnalyticsPage({ name }: { name: "tag" | "domain" }) {
  const value = useLastSegment();
  const analyticsQuery = useReadAnalyticsQuery(undefined, only(name, value));
  const list = `/links?${new URLSearchParams({ [name]: value }).toString()}`;
  return (
    <Page
      title={describeValue(name, value, statisticsLanguage())}
      intro={name === "tag" ? t("analytics.ofTag") : t("analytics.ofDomain")}
      actions={
        <PageLink href={list} className="button button-plain">
          {t("analytics.showLinks")}
        </PageLink>
      }
    >
      {/* The key resets the cards' state when another tag or domain is opened. */}
      <AnalyticsCards key={value} analyticsQuery={analyticsQuery}>
        {TOP_LINKS}
      </AnalyticsCards>
    </Page>
  );
}
