/** Clicks and unique visitors over time, as a chart and as a table. */
import { scaleLinear, scalePoint } from "d3-scale";
import { area, curveMonotoneX, line } from "d3-shape";
import { type KeyboardEvent, type PointerEvent, useState } from "react";

import { Button } from "../../ui/button.tsx";
import { formatCompact, formatCount } from "../../ui/format.ts";
import { useSearchState } from "../../ui/search-state.ts";
import { Table } from "../../ui/table.tsx";
import { useWidth } from "../../ui/width.ts";
import { anchorOf, finishedOf, type Point, unfinishedOf, untilNow } from "./chart-series.ts";

const HEIGHT = 260;
const MARGIN = { top: 12, right: 12, bottom: 28, left: 44 };
const LABEL_WIDTH = 90;
const TICKS = 4;

type Series = {
  points: readonly Point[];
  /** The points of the comparison period, matched to the current ones by index. */
  earlier: readonly Point[] | undefined;
};

export function TimeChart({ points: all, earlier }: Series) {
  const points = untilNow(all);
  const [asTable, setAsTable] = useState(false);
  return (
    <>
      <div className="chart-head">
        <ul className="legend">
          <li className="legend-clicks">Clicks</li>
          <li className="legend-unique">Unique visitors</li>
          {earlier !== undefined && <li className="legend-earlier">Clicks before</li>}
        </ul>
        <Button variant="quiet" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          {asTable ? "Show as chart" : "Show as table"}
        </Button>
      </div>
      {asTable ? (
        <PointTable points={points} earlier={earlier} />
      ) : (
        <Chart points={points} earlier={earlier} />
      )}
    </>
  );
}

const PointTable = ({ points, earlier }: Series) => (
  <Table
    label="Clicks over time"
    tall
    head={["Date", "Clicks", "Unique visitors", ...(earlier === undefined ? [] : ["Before"])]}
  >
    {points.map(({ date, clicks, unique, unfinished }, i) => (
      // When clocks are set back, an hour's label occurs twice.
      <tr key={`${date} ${i}`}>
        <th scope="row">
          {formatLabel(date)}
          {unfinished && " (so far)"}
        </th>
        <td>{formatCount(clicks)}</td>
        <td>{formatCount(unique)}</td>
        {earlier !== undefined && <td>{formatCount(earlier[i]?.clicks ?? 0)}</td>}
      </tr>
    ))}
  </Table>
);

function Chart({ points, earlier = [] }: Partial<Series> & Pick<Series, "points">) {
  const [element, width] = useWidth<HTMLDivElement>();
  const compared = earlier.slice(0, points.length);
  const scales = createScales(points, compared, width);
  const selection = useSelection(points, scales.step);
  const { selected } = selection;
  const shown = selected === undefined ? undefined : points[selected];
  return (
    <div
      ref={element}
      className="chart"
      // Focusable, for the arrow keys.
      tabIndex={0}
      role="group"
      aria-label={`Clicks over time, ${points.length} points. Use the arrow keys to read them, and Enter to show one day.`}
      onKeyDown={selection.onKeyDown}
      onBlur={selection.clear}
    >
      {width > 0 && (
        <svg
          width={width}
          height={HEIGHT}
          aria-hidden="true"
          onPointerMove={selection.onPointerMove}
          onPointerLeave={selection.clear}
          onClick={selection.open}
        >
          <Axes points={points} scales={scales} width={width} />
          <Lines points={points} compared={compared} scales={scales} />
          {shown !== undefined && selected !== undefined && (
            <Cursor x={scales.getX(selected)} point={shown} scales={scales} />
          )}
        </svg>
      )}
      <div className="tooltip" role="status">
        {shown !== undefined && selected !== undefined && (
          <TooltipText point={shown} earlier={compared[selected]} />
        )}
      </div>
    </div>
  );
}

type Scales = ReturnType<typeof createScales>;

/** Where a point is: `getX` by its index, `y` by its clicks. */
function createScales(points: readonly Point[], compared: readonly Point[], width: number) {
  const x = scalePoint<number>()
    .domain(points.keys())
    .range([MARGIN.left, Math.max(MARGIN.left + 1, width - MARGIN.right)]);
  const maxClicks = Math.max(4, ...[...points, ...compared].map(({ clicks }) => clicks));
  const y = scaleLinear()
    .domain([0, maxClicks])
    .nice(TICKS)
    .range([HEIGHT - MARGIN.bottom, MARGIN.top]);
  return { getX: (i: number) => x(i) ?? MARGIN.left, y, step: x.step() };
}

/** The selected point, which the pointer and the arrow keys change. */
function useSelection(points: readonly Point[], step: number) {
  const [, setParams] = useSearchState();
  const [selected, setSelected] = useState<number>();

  /** Selects the chosen day as the range; hours have no range of their own. */
  function open(): void {
    const date = selected === undefined ? undefined : points[selected]?.date;
    if (date === undefined || date.includes("T") || points.length === 1) return;
    setParams({ period: undefined, start: date, end: date });
  }

  return {
    selected,
    open,
    clear: () => setSelected(undefined),
    onPointerMove(event: PointerEvent<SVGSVGElement>): void {
      const left = event.clientX - event.currentTarget.getBoundingClientRect().left;
      setSelected(findNearest(left - MARGIN.left, step, points.length));
    },
    onKeyDown(event: KeyboardEvent): void {
      if (event.key === "Enter") open();
      const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (move === undefined) return;
      event.preventDefault();
      const current = selected ?? (move > 0 ? -1 : points.length);
      setSelected(Math.min(points.length - 1, Math.max(0, current + move)));
    },
  };
}

type AxesProps = { points: readonly Point[]; scales: Scales; width: number };

function Axes({ points, scales: { getX, y }, width }: AxesProps) {
  const labelInterval = Math.max(
    1,
    Math.ceil(points.length / Math.max(1, Math.floor(width / LABEL_WIDTH))),
  );
  return (
    <>
      {y.ticks(TICKS).map((tick) => (
        <g key={tick} transform={`translate(0 ${y(tick)})`}>
          <line className="grid" x1={MARGIN.left} x2={width - MARGIN.right} />
          <text className="axis" x={MARGIN.left - 8} dy="0.32em" textAnchor="end">
            {formatCompact(tick)}
          </text>
        </g>
      ))}
      {points.map(({ date }, i) =>
        i % labelInterval === 0 ? (
          <text
            key={`${date} ${i}`}
            className="axis"
            x={getX(i)}
            y={HEIGHT - 8}
            textAnchor={i === 0 ? "start" : anchorOf(getX(i), width)}
          >
            {formatLabel(date)}
          </text>
        ) : null,
      )}
    </>
  );
}

type LinesProps = { points: readonly Point[]; compared: readonly Point[]; scales: Scales };

function Lines({ points, compared, scales: { getX, y } }: LinesProps) {
  const finished = finishedOf(points);
  const unfinished = unfinishedOf(points);
  const drawLine = (name: "clicks" | "unique", series: readonly Point[], first = 0) => {
    const generator = line<Point>(
      (_, i) => getX(first + i),
      (point) => y(point[name]),
    );
    return generator.curve(curveMonotoneX)(series) ?? "";
  };
  const drawUnfinished = (name: "clicks" | "unique") =>
    drawLine(name, unfinished, points.length - unfinished.length);
  const clicksArea = area<Point>(
    (_, i) => getX(i),
    y(0),
    ({ clicks }) => y(clicks),
  );
  return (
    <>
      <path className="area-clicks" d={clicksArea.curve(curveMonotoneX)(finished) ?? ""} />
      <path className="line-earlier" d={drawLine("clicks", compared)} />
      <path className="line-clicks" d={drawLine("clicks", finished)} />
      <path className="line-unique" d={drawLine("unique", finished)} />
      <path className="line-clicks line-unfinished" d={drawUnfinished("clicks")} />
      <path className="line-unique line-unfinished" d={drawUnfinished("unique")} />
    </>
  );
}

const Cursor = ({ x, point, scales: { y } }: { x: number; point: Point; scales: Scales }) => (
  <g>
    <line className="cursor" x1={x} x2={x} y1={MARGIN.top} y2={HEIGHT - MARGIN.bottom} />
    <circle className="dot-clicks" r={4} cx={x} cy={y(point.clicks)} />
    <circle className="dot-unique" r={4} cx={x} cy={y(point.unique)} />
  </g>
);

const TooltipText = ({ point, earlier }: { point: Point; earlier: Point | undefined }) => (
  <>
    <strong>{formatLabel(point.date)}</strong>
    {point.unfinished && " so far"}: {formatCount(point.clicks)} clicks, {formatCount(point.unique)}{" "}
    unique
    {earlier !== undefined && `; ${formatCount(earlier.clicks)} on ${formatLabel(earlier.date)}`}
  </>
);

const findNearest = (left: number, step: number, points: number): number =>
  step === 0 ? 0 : Math.min(points - 1, Math.max(0, Math.round(left / step)));

const monthDay = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", timeZone: "UTC" });

/** Formats a point's date: the time for an hour, else month and day. */
const formatLabel = (date: string): string =>
  date.includes("T") ? date.slice(11) : monthDay.format(new Date(`${date}T00:00:00Z`));
