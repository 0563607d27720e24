/**
 * Clicks in real time. Of the account: the latest ones, and the counts of the last half hour. Of a
 * link: those since its page was opened.
 */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";

import type { ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { StatCards } from "../../../../shared/statistics/cards.tsx";
import { describeValue } from "../../../../shared/statistics/values.ts";
import { getJson } from "../../data/http.ts";
import { getBasePath, toSearch } from "../../data/scope.ts";
import { useAccountContext } from "../../data/session.ts";
import { rich, statisticsLanguage, t } from "../../languages/translate.ts";
import { countryName, formatTime } from "../../ui/format.ts";
import { Card, Page } from "../../ui/page.tsx";
import { QueryBoundary } from "../../ui/states.tsx";
import { type AnalyticsQuery, toFilterQuery } from "./analytics-path.ts";
import {
  AnalyticsQueryContext,
  useAnalyticsQuery,
  useReadAnalyticsQuery,
} from "./analytics-query.ts";
import { LinkName } from "./values.tsx";
import { FilterBar } from "./view-controls.tsx";

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
      <QueryBoundary query={query} label={t("analytics.live.window")} lines={2}>
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
      <QueryBoundary query={query} label={t("statistics.clicks")} lines={8}>
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

type LiveState = {
  state: "connecting" | "open" | "lost";
  clicks: number;
  latest: readonly Click[];
};

const LATEST_OF_LINK_MAX = 8;

/** Between two attempts of a stream that is refused: as long as the API asks for. */
const RECONNECT_MS = 5_000;

export function LiveClicks({ link }: { link: string }) {
  const { state, clicks, latest } = useLiveClicks(link);
  return (
    <Card title={t("shell.pages.live")}>
      <p className="live-count">
        <span className={`pulse pulse-${state}`} aria-hidden />
        <span role="status">
          {rich("analytics.live.sinceOpened", {
            count: clicks,
            strong: (count) => <strong data-testid="live-count">{count}</strong>,
          })}
          {state === "lost" && ` ${t("analytics.live.lost")}`}
        </span>
      </p>
      <ClickList clicks={latest} empty={t("analytics.live.emptyLink")} />
    </Card>
  );
}

/** Subscribes to the event stream while mounted. */
function useLiveClicks(link: string): LiveState {
  const { scope } = useAccountContext();
  const [live, setLive] = useState<LiveState>({ state: "connecting", clicks: 0, latest: [] });
  const [attempt, setAttempt] = useState(0);
  const { filters } = useAnalyticsQuery();
  const url = `${getBasePath(scope)}/v1/analytics/${link}/stream?${toSearch(toFilterQuery(filters))}`;
  useEffect(() => {
    const source = new EventSource(url);
    let timer: number | undefined;
    source.addEventListener("open", () => setLive((before) => ({ ...before, state: "open" })));
    source.addEventListener("error", () => {
      setLive((before) => ({ ...before, state: "lost" }));
      // The browser reconnects when a connection is lost, but not when the stream was refused.
      if (source.readyState === EventSource.CLOSED)
        timer = window.setTimeout(() => setAttempt(attempt + 1), RECONNECT_MS);
    });
    source.addEventListener("click", (event: MessageEvent<string>) => {
      const click = JSON.parse(event.data) as Click;
      setLive((before) => ({
        state: "open",
        clicks: before.clicks + (click.class === "human" ? 1 : 0),
        latest: [click, ...before.latest].slice(0, LATEST_OF_LINK_MAX),
      }));
    });
    return () => {
      clearTimeout(timer);
      source.close();
    };
  }, [url, attempt]);
  return live;
}

type Click = {
  time: string;
  class: string;
  country: string;
  city: string;
  browser: string;
  os: string;
  referrer: string;
};

function ClickList<Item extends Click>({
  clicks,
  empty,
  nameOf,
}: {
  clicks: readonly Item[];
  empty: string;
  /** The name of the click's link, shown before the location. */
  nameOf?: (click: Item) => ReactNode;
}) {
  if (clicks.length === 0) return <p className="no-data">{empty}</p>;
  return (
    <ul className="rows live-list">
      {clicks.map((click, i) => (
        <li key={`${click.time} ${i}`}>
          <span>
            {nameOf !== undefined && <span className="live-link">{nameOf(click)}</span>}
            {describePlace(click)}
            <span className="hint">
              {[
                click.browser,
                click.os,
                describeValue("referrer", click.referrer, statisticsLanguage()),
                describeClass(click.class),
              ]
                .filter(Boolean)
                .join(" · ")}
            </span>
          </span>
          <time dateTime={click.time}>{formatTime(new Date(click.time))}</time>
        </li>
      ))}
    </ul>
  );
}

/** Says that a click is not counted; nothing for one that is. */
function describeClass(name: string): string {
  if (name === "human") return "";
  return t(name === "bot" ? "analytics.notCounted.bot" : "analytics.notCounted.prefetch");
}

const describePlace = ({ city, country }: Click): string =>
  [city, country === "ZZ" ? "" : countryName(country)]
    .filter((name) => name !== "" && name !== "Unknown")
    .join(", ") || t("analytics.unknownLocation");
