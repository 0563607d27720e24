/** Clicks as they come. */
import { useEffect, useState } from "react";

import { baseOf } from "../../data/http.ts";
import { useHere } from "../../data/session.ts";
import { count, countryName } from "../../ui/format.ts";
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

type Seen = { state: "connecting" | "open" | "lost"; clicks: number; latest: readonly Click[] };

const LATEST_MAX = 8;

export function LiveClicks({ link }: { link: string }) {
  const { state, clicks, latest } = useLiveClicks(link);
  return (
    <Card title="Live" className="span-2">
      <p className="live-count">
        <span className={`pulse pulse-${state}`} aria-hidden />
        <span role="status">
          <strong data-testid="live-count">{count(clicks)}</strong> since you opened this page
          {state === "lost" && " (connection lost, trying again)"}
        </span>
      </p>
      {latest.length === 0 ? (
        <p className="nothing">Clicks appear here within a second or two.</p>
      ) : (
        <ul className="rows live-list">
          {latest.map((click, i) => (
            <li key={`${click.time} ${i}`}>
              <span>
                {[click.city, countryName(click.country)].filter(Boolean).join(", ") ||
                  "Unknown place"}
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

/** Follows the event stream for as long as the page shows it; the browser reconnects by itself. */
function useLiveClicks(link: string): Seen {
  const { place } = useHere();
  const [seen, setSeen] = useState<Seen>({ state: "connecting", clicks: 0, latest: [] });
  const url = `${baseOf(place)}/v1/analytics/${link}/stream`;
  useEffect(() => {
    const source = new EventSource(url);
    source.addEventListener("open", () => setSeen((before) => ({ ...before, state: "open" })));
    source.addEventListener("error", () => setSeen((before) => ({ ...before, state: "lost" })));
    source.addEventListener("click", (event: MessageEvent<string>) => {
      const click = JSON.parse(event.data) as Click;
      setSeen((before) => ({
        state: "open",
        clicks: before.clicks + (click.class === "human" ? 1 : 0),
        latest: [click, ...before.latest].slice(0, LATEST_MAX),
      }));
    });
    return () => source.close();
  }, [url]);
  return seen;
}
