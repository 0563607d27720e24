/** Requests that were not redirected: reasons, links, unknown aliases, and times. */
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import type { ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { FAILURE_REASONS } from "../../../../shared/contracts/analytics.ts";
import { getJson } from "../../data/http.ts";
import { getBasePath, toSearch } from "../../data/scope.ts";
import { useAccountContext } from "../../data/session.ts";
import type { TextKey } from "../../languages/catalogues.ts";
import { t } from "../../languages/translate.ts";
import { CsvButton, SegmentedControl } from "../../ui/button.tsx";
import { formatCount } from "../../ui/format.ts";
import { Card } from "../../ui/page.tsx";
import { QueryBoundary } from "../../ui/states.tsx";
import { type Column, RowTable } from "../../ui/table.tsx";
import { type AnalyticsQuery, toRangeQuery } from "./analytics-path.ts";
import { useAnalyticsQuery } from "./analytics-query.ts";
import { LinkName } from "./breakdowns/value-name.tsx";

type Failures = ResponseBody<"getFailures">;

const REASON_NAMES: Readonly<Record<(typeof FAILURE_REASONS)[number], TextKey>> = {
  unknown_alias: "analytics.failures.unknownAlias",
  expired: "analytics.failures.expired",
  limit_reached: "analytics.failures.limitReached",
  wrong_password: "analytics.failures.wrongPassword",
  disabled: "analytics.failures.disabled",
  not_started: "analytics.failures.notStarted",
};

type Tab = "reasons" | "links" | "aliases" | "days";

/** The labels of the tabs; of a single link only some have more than one row. */
const tabsOf = (isOneLink: boolean): Partial<Record<Tab, string>> => ({
  reasons: t("analytics.failures.reasons"),
  days: t("analytics.failures.overTime"),
  ...(isOneLink
    ? {}
    : {
        links: t("analytics.failures.links"),
        aliases: t("analytics.failures.unknownAliases"),
      }),
});

/** The page's range, link and subject. The other filters apply to clicks only. */
const toQuery = ({ range, link, subject }: AnalyticsQuery) => ({
  ...toRangeQuery(range),
  link_id: link,
  domain: subject?.name === "domain" ? subject.value : undefined,
});

export function FailuresCard() {
  const { scope } = useAccountContext();
  const analyticsQuery = useAnalyticsQuery();
  const [tab, setTab] = useState<Tab>("reasons");
  const path = `${getBasePath(scope)}/v1/analytics/failures?${toSearch(toQuery(analyticsQuery))}`;
  const query = useQuery({
    queryKey: ["failures", scope, path],
    queryFn: ({ signal }) => getJson<Failures>(path, { signal }),
  });

  return (
    <Card
      title={t("analytics.failures.title")}
      className="span-2"
      actions={
        <>
          <SegmentedControl
            label={t("analytics.failures.by")}
            options={tabsOf(analyticsQuery.link !== undefined)}
            selected={tab}
            onSelect={setTab}
          />
          <CsvButton path={path} name={t("analytics.names.failures")} file="failures" />
        </>
      }
    >
      <QueryBoundary query={query} label={t("analytics.failures.loading")} lines={4}>
        {(failures) => <FailureList failures={failures} tab={tab} />}
      </QueryBoundary>
      {analyticsQuery.filters.length > 0 && (
        <p className="hint">{t("analytics.failures.noFilters")}</p>
      )}
    </Card>
  );
}

function FailureList({ failures, tab }: { failures: Failures; tab: Tab }) {
  const { summary, top_links, unknown_aliases, failures_over_time } = failures;
  if (summary.total === 0) return <p className="no-data">{t("analytics.failures.noneAtAll")}</p>;
  if (tab === "days") return <DayTable days={failures_over_time} />;
  if (tab === "links") {
    const rows = top_links.map(({ link_id, total }) => ({
      key: link_id,
      name: <LinkName id={link_id} />,
      count: total,
    }));
    return <CountList label={t("analytics.failures.failedLinks")} rows={rows} />;
  }
  if (tab === "aliases") {
    const rows = unknown_aliases.map(({ domain, alias, requests }) => ({
      key: `${domain}/${alias}`,
      name: `${domain}/${alias}`,
      count: requests,
    }));
    return <CountList label={t("analytics.failures.unknownAliases")} rows={rows} />;
  }
  const rows = FAILURE_REASONS.map((reason) => ({
    key: reason,
    name: t(REASON_NAMES[reason]),
    count: summary[reason],
  })).toSorted((a, b) => b.count - a.count);
  return <CountList label={t("analytics.failures.reasons")} rows={rows} />;
}

const DayTable = ({ days }: { days: Failures["failures_over_time"] }) => (
  <RowTable
    label={t("analytics.failures.table")}
    rows={days.filter(({ total }) => total > 0)}
    keyOf={({ date }) => date}
    columns={[
      { name: t("statistics.date"), cell: ({ date }) => date.replace("T", " ") },
      ...FAILURE_REASONS.map((reason): Column<Failures["failures_over_time"][number]> => ({
        name: t(REASON_NAMES[reason]),
        isNamed: true,
        cell: (counts) => formatCount(counts[reason]),
      })),
    ]}
    tall
  />
);

type CountRow = { key: string; name: ReactNode; count: number };

function CountList({ label, rows }: { label: string; rows: readonly CountRow[] }) {
  const shown = rows.filter(({ count }) => count > 0);
  if (shown.length === 0) return <p className="no-data">{t("analytics.failures.none")}</p>;
  const most = Math.max(...shown.map(({ count }) => count));
  return (
    <ol className="breakdown" aria-label={label}>
      {shown.map(({ key, name, count }) => (
        <li key={key}>
          <span
            className="breakdown-bar"
            style={{ width: `${(count / most) * 100}%` }}
            aria-hidden
          />
          <span className="breakdown-name">{name}</span>
          <span className="breakdown-clicks">{formatCount(count)}</span>
        </li>
      ))}
    </ol>
  );
}
