/**
 * Clicks and unique visitors over time, as a chart that can be read by pointer and keys, and as a
 * table.
 */
import { type KeyboardEvent, type PointerEvent, useState } from "react";

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
import { statisticsLanguage } from "../../languages/statistics.ts";
import { t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { formatCount, formatPointDate } from "../../ui/format.ts";
import { updateSearch } from "../../ui/search-state.ts";
import { Table } from "../../ui/table.tsx";

export function TimeChart({ points: all, earlier }: Series) {
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
          head={pointColumns(earlier, statisticsLanguage())}
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

/** The selected point, which the pointer and the arrow keys change. */
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
