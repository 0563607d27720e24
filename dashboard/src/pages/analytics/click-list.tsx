/** A list of single clicks, newest first. */
import type { ReactNode } from "react";

import { describeValue } from "../../../../shared/statistics/values.ts";
import { statisticsLanguage } from "../../languages/statistics.ts";
import { t } from "../../languages/translate.ts";
import { countryName, formatTime } from "../../ui/format.ts";

export type Click = {
  time: string;
  class: string;
  country: string;
  city: string;
  browser: string;
  os: string;
  referrer: string;
};

export function ClickList<Item extends Click>({
  clicks,
  empty,
  nameOf,
}: {
  clicks: readonly Item[];
  /** Shown when there are none. */
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
