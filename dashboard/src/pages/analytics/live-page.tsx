/**
 * The clicks of the whole account in real time: the latest ones, and the counts of the last half
 * hour.
 */
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import type { ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { StatCards } from "../../../../shared/statistics/cards.tsx";
import { getJson } from "../../data/http.ts";
import { getBasePath } from "../../data/scope.ts";
import { useAccountContext } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import { Card, Page } from "../../ui/page.tsx";
import { QueryBoundary } from "../../ui/states.tsx";
import type { AnalyticsQuery } from "./analytics-path.ts";
import { AnalyticsQueryContext, useReadAnalyticsQuery } from "./analytics-query.ts";
import { LinkName } from "./breakdowns/link-name.tsx";
import { ClickList } from "./click-list.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { toFilterQuery } from "./filters.ts";

const REFRESH_MS = 3_000;
const WINDOW_MS = 30 * 60_000;
const LATEST_MAX = 30;

export function LivePage() {
  const analyticsQuery = useReadAnalyticsQuery();
  return (
    <Page title={t("shell.pages.live")} intro={t("analytics.live.intro")}>
      <AnalyticsQueryContext value={analyticsQuery}>
        <FilterBar />
        <Totals analyticsQuery={analyticsQuery} />
        <Latest analyticsQuery={analyticsQuery} />
      </AnalyticsQueryContext>
    </Page>
  );
}

function Totals({ analyticsQuery }: { analyticsQuery: AnalyticsQuery }) {
  const query = useLive<ResponseBody<"getAccountAnalytics">>("/analytics", analyticsQuery, {});
  return (
    <Card title={t("analytics.live.window")}>
      <QueryBoundary query={query} label={t("analytics.live.counts")} lines={2}>
        {({ summary }) => (
          <StatCards totals={summary} names={["total_clicks", "unique_clicks", "bot_clicks"]} />
        )}
      </QueryBoundary>
    </Card>
  );
}

function Latest({ analyticsQuery }: { analyticsQuery: AnalyticsQuery }) {
  const query = useLive<ResponseBody<"listClicks">>("/clicks", analyticsQuery, {
    limit: LATEST_MAX,
  });
  return (
    <Card title={t("analytics.live.latest")}>
      <QueryBoundary query={query} label={t("analytics.names.clicks")} lines={8}>
        {({ data }) => (
          <ClickList
            clicks={data}
            empty={t("analytics.live.empty")}
            nameOf={({ link_id }) => <LinkName id={link_id} />}
          />
        )}
      </QueryBoundary>
    </Card>
  );
}

/** Polls the last half hour while the page is visible. */
function useLive<Data>(path: string, { filters }: AnalyticsQuery, params: { limit?: number }) {
  const { scope } = useAccountContext();
  return useQuery({
    queryKey: ["live", scope, path, filters],
    refetchInterval: REFRESH_MS,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => {
      const start_date = new Date(Date.now() - WINDOW_MS).toISOString();
      const end_date = new Date().toISOString();
      const query = { ...toFilterQuery(filters), ...params, start_date, end_date };
      return getJson<Data>(`${getBasePath(scope)}/v1${path}`, { query, signal });
    },
  });
}
