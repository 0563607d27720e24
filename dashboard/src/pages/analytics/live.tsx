/** A link's clicks in real time. */
import { useEffect, useState } from "react";

import { getBasePath, toSearch } from "../../data/scope.ts";
import { useAccountContext } from "../../data/session.ts";
import { rich, t } from "../../languages/translate.ts";
import { Card } from "../../ui/page.tsx";
import { useAnalyticsQuery } from "./analytics-query.ts";
import { type Click, ClickList } from "./click-list.tsx";
import { toFilterQuery } from "./filters.ts";

type LiveState = {
  state: "connecting" | "open" | "lost";
  clicks: number;
  latest: readonly Click[];
};

const LATEST_MAX = 8;

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

/** Subscribes to the event stream while mounted; the browser reconnects automatically. */
function useLiveClicks(link: string): LiveState {
  const { scope } = useAccountContext();
  const [live, setLive] = useState<LiveState>({ state: "connecting", clicks: 0, latest: [] });
  const { filters } = useAnalyticsQuery();
  const url = `${getBasePath(scope)}/v1/analytics/${link}/stream?${toSearch(toFilterQuery(filters))}`;
  useEffect(() => {
    const source = new EventSource(url);
    source.addEventListener("open", () => setLive((before) => ({ ...before, state: "open" })));
    source.addEventListener("error", () => setLive((before) => ({ ...before, state: "lost" })));
    source.addEventListener("click", (event: MessageEvent<string>) => {
      const click = JSON.parse(event.data) as Click;
      setLive((before) => ({
        state: "open",
        clicks: before.clicks + (click.class === "human" ? 1 : 0),
        latest: [click, ...before.latest].slice(0, LATEST_MAX),
      }));
    });
    return () => source.close();
  }, [url]);
  return live;
}
