/** Clicks by weekday and hour, with the first and the last click. */
import { scaleQuantile } from "d3-scale";
import { memo, type PointerEvent } from "react";

import type { ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { t } from "../../languages/translate.ts";
import { CsvButton } from "../../ui/button.tsx";
import { formatCount, formatDateTime, formatWeekday } from "../../ui/format.ts";
import { Card } from "../../ui/page.tsx";
import { QueryBoundary } from "../../ui/states.tsx";
import { useAnalytics } from "./analytics-query.ts";

const SHADES = [1, 2, 3, 4, 5];
/** Interval of the hours that have a label. */
const LABELLED_EVERY = 6;

type Times = ResponseBody<"getAccountTimes">;

export function HeatMap() {
  const { query, csvPath } = useAnalytics<Times>("/times");
  return (
    <Card
      title={t("analytics.heatMap.title")}
      className="span-2"
      actions={
        <CsvButton path={csvPath} name={t("analytics.heatMap.name")} file="weekdays and hours" />
      }
    >
      <QueryBoundary query={query} label={t("analytics.heatMap.name")} lines={6}>
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

/** Is rendered again only when the clicks have changed. */
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
      clicks: formatCount(heatmap[Number(day)]?.[Number(hour)] ?? 0),
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
