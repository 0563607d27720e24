/** The clicks of a period by tag. */
import { Link as PageLink } from "wouter";

import type { ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { useTagClass } from "../../data/account-lists.ts";
import { t } from "../../languages/translate.ts";
import { CsvButton } from "../../ui/button.tsx";
import { formatCount, formatPercent } from "../../ui/format.ts";
import { Card } from "../../ui/page.tsx";
import { Empty, QueryBoundary } from "../../ui/states.tsx";
import { RowTable } from "../../ui/table.tsx";
import {
  AnalyticsQueryContext,
  useAnalytics,
  useAnalyticsQuery,
  useReadAnalyticsQuery,
} from "../analytics/analytics-query.ts";
import { FilterBar } from "../analytics/filter-bar.tsx";
import { PeriodBar } from "../analytics/period-bar.tsx";

type Tags = ResponseBody<"getAccountBreakdown">;

/** Maximum tags of one request, the API's maximum. */
const TAGS_MAX = "100";

export function PeriodCard() {
  const analyticsQuery = useReadAnalyticsQuery();
  return (
    <AnalyticsQueryContext value={analyticsQuery}>
      <PeriodBar comparable={false}>
        <FilterBar />
      </PeriodBar>
      <ClicksByTag />
    </AnalyticsQueryContext>
  );
}

function ClicksByTag() {
  const { query, csvPath } = useAnalytics<Tags>("/breakdown", { by: "tag", limit: TAGS_MAX });
  return (
    <Card
      title={t("tags.periodTitle")}
      actions={<CsvButton path={csvPath} name={t("tags.loading")} file="tags" />}
    >
      <QueryBoundary query={query} label={t("tags.loadingClicks")} lines={6}>
        {({ data }) =>
          data.length === 0 ? <Empty title={t("tags.noClicks")} /> : <PeriodTable rows={data} />
        }
      </QueryBoundary>
    </Card>
  );
}

function PeriodTable({ rows }: { rows: Tags["data"] }) {
  const { viewSearch } = useAnalyticsQuery();
  const tagClass = useTagClass();
  return (
    <RowTable
      label={t("tags.byTag")}
      rows={rows}
      keyOf={({ values: { tag = "" } }) => tag}
      columns={[
        {
          name: t("links.filter.tag"),
          cell: ({ values: { tag = "" } }) => (
            <PageLink
              href={`/tags/${encodeURIComponent(tag)}${viewSearch}`}
              className={tagClass(tag)}
            >
              {tag}
            </PageLink>
          ),
        },
        {
          name: t("statistics.clicks"),
          isNamed: true,
          className: "number",
          cell: ({ clicks }) => formatCount(clicks),
        },
        {
          name: t("analytics.dimensions.visitors"),
          isNamed: true,
          className: "number",
          cell: ({ unique_clicks }) => formatCount(unique_clicks),
        },
        {
          name: t("analytics.values.share"),
          isNamed: true,
          className: "number",
          cell: ({ percentage }) => formatPercent(percentage),
        },
      ]}
    />
  );
}
