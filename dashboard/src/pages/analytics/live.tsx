/** A link's clicks in real time. */
import { useEffect, useState } from "react";

import { getBasePath } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
import { countryName, formatCount } from "../../ui/format.ts";
import { Card } from "../../ui/page.tsx";

type Click = {
  time: string;
  class: string;
  country: string;
  city: string;
  browser: string;
  os: string;
  referrer: string;
};

type LiveState = {
  state: "connecting" | "open" | "lost";
  clicks: number;
  latest: readonly Click[];
};

const LATEST_MAX = 8;

export function LiveClicks({ link }: { link: string }) {
  const { state, clicks, latest } = useLiveClicks(link);
  return (
    <Card title="Live" className="span-2">
      <p className="live-count">
        <span className={`pulse pulse-${state}`} aria-hidden />
        <span role="status">
          <strong data-testid="live-count">{formatCount(clicks)}</strong> since you opened this page
          {state === "lost" && " (connection lost, reconnecting …)"}
        </span>
      </p>
      {latest.length === 0 ? (
        <p className="no-data">New clicks appear here within a second or two.</p>
      ) : (
        <ul className="rows live-list">
          {latest.map((click, i) => (
            <li key={`${click.time} ${i}`}>
              <span>
                {[click.city, countryName(click.country)].filter(Boolean).join(", ") ||
                  "Unknown location"}
                <span className="hint">
                  {[click.browser, click.os, click.referrer].filter(Boolean).join(" · ")}
                  {click.class !== "human" && ` · ${click.class}, not counted`}
                </span>
              </span>
              <time dateTime={click.time}>{new Date(click.time).toLocaleTimeString("en")}</time>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

/** Subscribes to the event stream while mounted; the browser reconnects automatically. */
function useLiveClicks(link: string): LiveState {
  const { scope } = useAccountContext();
  const [live, setLive] = useState<LiveState>({ state: "connecting", clicks: 0, latest: [] });
  const url = `${getBasePath(scope)}/v1/analytics/${link}/stream`;
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
