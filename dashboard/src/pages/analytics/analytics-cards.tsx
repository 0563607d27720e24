/** The common parts of all analytics pages: period, filters, counts over time and breakdowns. */
import { useQuery } from "@tanstack/react-query";
import { scaleQuantile } from "d3-scale";
import { Bookmark } from "lucide-react";
import { memo, type PointerEvent, type ReactNode, useDeferredValue, useState } from "react";
import { useLocation } from "wouter";
import { useSearch } from "wouter/use-browser-location";

import type { ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { FAILURE_REASONS } from "../../../../shared/contracts/analytics.ts";
import { getJson } from "../../data/http.ts";
import { getBasePath, toSearch } from "../../data/scope.ts";
import { useAccountContext } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import { Button, CsvButton, SegmentedControl } from "../../ui/button.tsx";
import { formatCount, formatDateTime, formatPointDate, formatWeekday } from "../../ui/format.ts";
import { Card } from "../../ui/page.tsx";
import { QueryBoundary } from "../../ui/states.tsx";
import { type Column, RowTable } from "../../ui/table.tsx";
import { SavedDialog, useSaved } from "../saved-dialog.tsx";
import {
  type AnalyticsQuery,
  type Filter,
  toClickFilters,
  toRangeQuery,
} from "./analytics-path.ts";
import {
  AnalyticsQueryContext,
  setFilters,
  useAnalytics,
  useAnalyticsQuery,
} from "./analytics-query.ts";
import { Campaigns, Devices, Languages, Places, Referrers } from "./breakdown-cards.tsx";
import { ClicksCard } from "./clicks-card.tsx";
import { LinkName } from "./values.tsx";
import { FilterBar, PeriodBar } from "./view-controls.tsx";

/**
 * The controls follow the query at once. The cards follow in a deferred rendering, which yields to
 * keys and clicks and is repeated for a later query, so that no card delays them.
 */
export function AnalyticsCards({
  analyticsQuery,
  children,
}: {
  analyticsQuery: AnalyticsQuery;
  /** A card that only some of the pages have; the same element as long as nothing changes. */
  children: ReactNode;
}) {
  const drawn = useDeferredValue(analyticsQuery);
  return (
    <>
      <AnalyticsQueryContext value={analyticsQuery}>
        <PeriodBar>
          <SavedViews />
          <FilterBar />
        </PeriodBar>
      </AnalyticsQueryContext>
      <AnalyticsQueryContext value={drawn}>
        <Cards isOfTag={drawn.subject?.name === "tag"}>{children}</Cards>
      </AnalyticsQueryContext>
    </>
  );
}

/**
 * Is not rendered with the controls; each card reads the query itself. People look at the counts
 * first: the other cards follow them.
 */
const Cards = memo(function Cards({
  isOfTag,
  children,
}: {
  isOfTag: boolean;
  children: ReactNode;
}) {
  const showsAll = useDeferredValue(true, false);
  return (
    <>
      <ClicksCard />
      {showsAll && (
        <div className="grid-cards">
          <Places />
          {children}
          <Devices />
          <Referrers />
          <Languages />
          <Campaigns />
          <HeatMap />
          {!isOfTag && <FailuresCard />}
        </div>
      )}
    </>
  );
});

/** Saved views of the account, and filters of links that select clicks as well. */
const SavedViews = () => (
  <Button opens={(close) => <ViewsDialog onClose={close} />}>
    <Bookmark aria-hidden /> {t("saved.views.open")}
  </Button>
);

function ViewsDialog({ onClose }: { onClose: () => void }) {
  const { link } = useAnalyticsQuery();
  const [, navigate] = useLocation();
  const search = useSearch();
  function openView(query: string): void {
    const params = new URLSearchParams(query);
    // Analytics of a single link have neither filter.
    if (link !== undefined) for (const name of ["tag", "domain"]) params.delete(name);
    // "~" makes the path absolute.
    navigate(`~${location.pathname}?${params.toString()}`);
  }
  function showClicks(filters: readonly Filter[]): void {
    setFilters(filters);
    onClose();
  }
  return (
    <SavedDialog
      kind="views"
      // As a URL has it: percent-encoded.
      query={new URLSearchParams(search).toString()}
      onOpen={openView}
      onClose={onClose}
    >
      {link === undefined && <LinkFilters onOpen={showClicks} />}
    </SavedDialog>
  );
}

/** The saved filters of links that say the same of clicks. */
function LinkFilters({ onOpen }: { onOpen: (filters: readonly Filter[]) => void }) {
  const saved = useSaved("linkFilters");
  const usable = (saved.data ?? []).flatMap(({ name, query }) => {
    const filters = toClickFilters(query);
    return filters === undefined ? [] : [{ name, filters }];
  });
  if (usable.length === 0) return null;
  return (
    <>
      <h3>{t("saved.linkFilters.title")}</h3>
      <ul className="view-list" aria-label={t("saved.linkFilters.title")}>
        {usable.map(({ name, filters }) => (
          <li key={name}>
            <button type="button" className="value-button" onClick={() => onOpen(filters)}>
              {name}
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

const SHADES = [1, 2, 3, 4, 5];
const LABELLED_EVERY = 6;

type Times = ResponseBody<"getAccountTimes">;

function HeatMap() {
  const { query, csvPath } = useAnalytics<Times>("/times");
  return (
    <Card
      title={t("analytics.heatMap.title")}
      className="span-2"
      actions={<CsvButton path={csvPath} name={t("analytics.heatMap.title")} />}
    >
      <QueryBoundary query={query} label={t("analytics.heatMap.title")} lines={6}>
        {({ heatmap, first_click_at, last_click_at }) => (
          <>
            <Grid heatmap={heatmap} />
            {first_click_at !== null && last_click_at !== null && (
              <p className="hint centred">
                {t("analytics.heatMap.firstAndLast", {
                  first: formatDateTime(first_click_at),
                  last: formatDateTime(last_click_at),
                })}
              </p>
            )}
          </>
        )}
      </QueryBoundary>
    </Card>
  );
}

type DayProps = {
  day: number;
  hours: readonly number[];
  shadeOf: (clicks: number) => number;
};

function Day({ day, hours, shadeOf }: DayProps) {
  const name = formatWeekday(day, "long");
  return (
    <tr>
      <th scope="row">
        <abbr title={name}>{name.slice(0, 2)}</abbr>
      </th>
      {hours.map((clicks, hour) => (
        <td
          key={hour}
          className={`heat shade-${clicks === 0 ? 0 : shadeOf(clicks)}`}
          data-day={day}
          data-hour={hour}
        >
          <span className="visually-hidden">{formatCount(clicks)}</span>
        </td>
      ))}
    </tr>
  );
}

/** Renders again only when the clicks have changed. */
const Grid = memo(function Grid({ heatmap }: { heatmap: Times["heatmap"] }) {
  const shadeOf = scaleQuantile()
    .domain(heatmap.flat().filter((clicks) => clicks > 0))
    .range(SHADES);
  /** Writes the tooltip of a cell when the pointer reaches it: most are never read. */
  function describe({ target }: PointerEvent): void {
    if (!(target instanceof HTMLTableCellElement)) return;
    const { day, hour } = target.dataset;
    if (day === undefined || hour === undefined) return;
    target.title = t("analytics.heatMap.cell", {
      weekday: formatWeekday(Number(day), "long"),
      hour,
      clicks: heatmap[Number(day)]?.[Number(hour)] ?? 0,
    });
  }
  return (
    <table className="heat-map" onPointerOver={describe}>
      <caption className="visually-hidden">{t("analytics.heatMap.caption")}</caption>
      <thead>
        <tr>
          <td />
          {Array.from({ length: 24 }, (_, hour) => (
            <th key={hour} scope="col">
              <span className={hour % LABELLED_EVERY === 0 ? "" : "visually-hidden"}>{hour}</span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {heatmap.map((hours, day) => (
          <Day key={day} day={day} hours={hours} shadeOf={shadeOf} />
        ))}
      </tbody>
    </table>
  );
});

type Failures = ResponseBody<"getFailures">;

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

function FailuresCard() {
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
          <CsvButton path={path} name={t("analytics.failures.title")} />
        </>
      }
    >
      <QueryBoundary query={query} label={t("analytics.failures.title")} lines={4}>
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
    name: t(`analytics.failures.${reason}`),
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
      { name: t("statistics.date"), cell: ({ date }) => formatPointDate(date) },
      ...FAILURE_REASONS.map((reason): Column<Failures["failures_over_time"][number]> => ({
        name: t(`analytics.failures.${reason}`),
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
