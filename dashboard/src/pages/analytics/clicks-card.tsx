/** Clicks over time, with totals, compared to an earlier period. */
import { ArrowDownRight, ArrowUpRight } from "lucide-react";
import { type KeyboardEvent, memo, type PointerEvent, useState } from "react";

import type { ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { StatCards, type StatName } from "../../../../shared/statistics/cards.tsx";
import {
  findNearest,
  moveSelection,
  type Point,
  untilNow,
} from "../../../../shared/statistics/chart-series.ts";
import {
  ChartDrawing,
  describePoint,
  Legend,
  pointColumns,
  PointRows,
  type Series,
} from "../../../../shared/statistics/time-chart.tsx";
import { statisticsLanguage, t } from "../../languages/translate.ts";
import { Button, CsvButton } from "../../ui/button.tsx";
import {
  describeChange,
  type Direction,
  formatCount,
  formatDate,
  formatPointDate,
} from "../../ui/format.ts";
import { Card } from "../../ui/page.tsx";
import { updateSearch } from "../../ui/search-state.ts";
import { QueryBoundary } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { summaryParams } from "./analytics-path.ts";
import { useAnalytics, useAnalyticsQuery } from "./analytics-query.ts";

type Counts = ResponseBody<"getLinkAnalytics">;

export function ClicksCard() {
  const analyticsQuery = useAnalyticsQuery();
  const { query, csvPath } = useAnalytics<Counts>("", summaryParams(analyticsQuery));
  return (
    <Card
      title={t("statistics.clicks")}
      actions={<CsvButton path={csvPath} name={t("statistics.clicks")} />}
    >
      <QueryBoundary query={query} label={t("statistics.clicks")} lines={8}>
        {(counts) => <Counts counts={counts} />}
      </QueryBoundary>
    </Card>
  );
}

/** Renders again only when the counts have changed. */
const Counts = memo(function Counts({ counts }: { counts: Counts }) {
  const { summary, clicks_over_time, comparison, complete_from } = counts;
  return (
    <>
      <StatCards
        totals={summary}
        renderChange={
          comparison &&
          ((name) => (
            <Change
              from={comparison.summary[name]}
              to={summary[name]}
              isNeutral={NEUTRAL.has(name)}
            />
          ))
        }
      />
      <TimeChart points={clicks_over_time} earlier={comparison?.clicks_over_time} />
      {complete_from !== undefined && (
        <p className="hint">{t("analytics.completeFrom", { date: formatDate(complete_from) })}</p>
      )}
    </>
  );
});

/** Totals whose increase is neither good nor bad news. */
const NEUTRAL: ReadonlySet<StatName> = new Set(["bot_clicks"]);

/** Whether a change is displayed as good news (up), as bad news (down), or as neither. */
export const toneOf = (direction: Direction, isNeutral: boolean): "up" | "down" | "neutral" =>
  isNeutral || direction === "none" ? "neutral" : direction;

function Change({ from, to, isNeutral }: { from: number; to: number; isNeutral: boolean }) {
  const change = describeChange(from, to);
  if (change === undefined) return null;
  const { direction, text } = change;
  const tone = toneOf(direction, isNeutral);
  return (
    <span className={`change change-${tone}`} title={t("analytics.before", { count: from })}>
      {direction === "up" && <ArrowUpRight aria-hidden />}
      {direction === "down" && <ArrowDownRight aria-hidden />}
      {direction !== "none" && (
        <span className="visually-hidden">
          {direction === "up" ? t("analytics.upBy") : t("analytics.downBy")}
        </span>
      )}
      {text}
    </span>
  );
}

/**
 * Clicks and unique visitors over time, as a chart that can be read by pointer and keys, and as a
 * table.
 */
function TimeChart({ points: all, earlier }: Series) {
  const points = untilNow(all);
  const [asTable, setAsTable] = useState(false);
  return (
    <>
      <div className="chart-head">
        <Legend earlier={earlier} />
        <Button variant="quiet" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          {asTable ? t("analytics.chart.asChart") : t("analytics.chart.asTable")}
        </Button>
      </div>
      {asTable ? (
        <Table
          label={t("analytics.chart.title")}
          tall
          names={pointColumns(earlier, statisticsLanguage())}
        >
          <PointRows points={points} earlier={earlier} />
        </Table>
      ) : (
        <Chart points={points} earlier={earlier} />
      )}
    </>
  );
}

function Chart({ points, earlier }: Series) {
  const { selected, clear, open, onPointerMove, onKeyDown } = useSelection(points);
  const shown = selected === undefined ? undefined : points[selected];
  return (
    <div
      className="chart"
      // Focusable, for the arrow keys.
      tabIndex={0}
      role="group"
      aria-label={t("analytics.chart.label", { points: points.length })}
      onKeyDown={onKeyDown}
      onBlur={clear}
    >
      <ChartDrawing
        points={points}
        earlier={earlier}
        selected={selected}
        plot={{ onPointerMove, onPointerLeave: clear, onClick: open }}
      />
      <div className="tooltip" role="status">
        {shown !== undefined && selected !== undefined && (
          <>
            {describePoint(shown, statisticsLanguage())}
            {describeEarlier(earlier?.[selected])}
          </>
        )}
      </div>
    </div>
  );
}

const describeEarlier = (point: Point | undefined): string =>
  point === undefined
    ? ""
    : t("analytics.chart.earlier", {
        clicks: formatCount(point.clicks),
        date: formatPointDate(point.date),
      });

function useSelection(points: readonly Point[]) {
  const [selected, setSelected] = useState<number>();

  /** Selects the chosen day as the range; hours have no range of their own. */
  function open(): void {
    const date = selected === undefined ? undefined : points[selected]?.date;
    if (date === undefined || date.includes("T") || points.length === 1) return;
    updateSearch({ period: undefined, start: date, end: date });
  }

  return {
    selected,
    open,
    clear: () => setSelected(undefined),
    onPointerMove({ clientX, currentTarget }: PointerEvent<SVGSVGElement>): void {
      const { left, width } = currentTarget.getBoundingClientRect();
      setSelected(findNearest((clientX - left) / width, points.length));
    },
    onKeyDown(event: KeyboardEvent): void {
      if (event.key === "Enter") open();
      const moved = moveSelection(event.key, selected, points.length);
      if (moved === undefined) return;
      event.preventDefault();
      setSelected(moved);
    },
  };
}
