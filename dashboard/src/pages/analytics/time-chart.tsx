/** Clicks and visitors over time: a drawing for the eye, and the same numbers as a table. */
import { scaleLinear, scalePoint } from "d3-scale";
import { area, curveMonotoneX, line } from "d3-shape";
import { type KeyboardEvent, type PointerEvent, useState } from "react";

import { Button } from "../../ui/button.tsx";
import { compact, count } from "../../ui/format.ts";
import { Table } from "../../ui/table.tsx";
import { useWidth } from "../../ui/width.ts";

export type Point = { date: string; clicks: number; unique: number };

const HEIGHT = 260;
const MARGIN = { top: 12, right: 12, bottom: 28, left: 44 };
const LABEL_WIDTH = 90;
const TICKS = 4;

export function TimeChart({ points }: { points: readonly Point[] }) {
  const [asTable, setAsTable] = useState(false);
  return (
    <>
      <div className="chart-head">
        <ul className="legend">
          <li className="legend-clicks">Clicks</li>
          <li className="legend-unique">Unique visitors</li>
        </ul>
        <Button look="quiet" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          {asTable ? "Show the chart" : "Show as a table"}
        </Button>
      </div>
      {asTable ? <PointTable points={points} /> : <Drawing points={points} />}
    </>
  );
}

const PointTable = ({ points }: { points: readonly Point[] }) => (
  <Table label="Clicks over time" tall head={["Date", "Clicks", "Unique visitors"]}>
    {points.map(({ date, clicks, unique }, i) => (
      // Where clocks go back, an hour's name comes twice.
      <tr key={`${date} ${i}`}>
        <th scope="row">{nameOf(date)}</th>
        <td>{count(clicks)}</td>
        <td>{count(unique)}</td>
      </tr>
    ))}
  </Table>
);

function Drawing({ points }: { points: readonly Point[] }) {
  const [element, width] = useWidth<HTMLDivElement>();
  const [at, setAt] = useState<number>();
  const x = scalePoint<number>()
    .domain(points.keys())
    .range([MARGIN.left, Math.max(MARGIN.left + 1, width - MARGIN.right)]);
  const highest = Math.max(4, ...points.map(({ clicks }) => clicks));
  const y = scaleLinear()
    .domain([0, highest])
    .nice(TICKS)
    .range([HEIGHT - MARGIN.bottom, MARGIN.top]);
  const placeOf = (i: number) => x(i) ?? MARGIN.left;
  const shapeOf = (name: "clicks" | "unique") => {
    const draw = line<Point>(
      (_, i) => placeOf(i),
      (point) => y(point[name]),
    );
    return draw.curve(curveMonotoneX)(points) ?? "";
  };
  const filled = area<Point>(
    (_, i) => placeOf(i),
    y(0),
    ({ clicks }) => y(clicks),
  );
  const every = Math.max(
    1,
    Math.ceil(points.length / Math.max(1, Math.floor(width / LABEL_WIDTH))),
  );

  function point(event: PointerEvent<SVGSVGElement>): void {
    const left = event.clientX - event.currentTarget.getBoundingClientRect().left;
    setAt(nearest(left - MARGIN.left, x.step(), points.length));
  }

  function step(event: KeyboardEvent): void {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    setAt(Math.min(points.length - 1, Math.max(0, (at ?? (by > 0 ? -1 : points.length)) + by)));
  }

  const shown = at === undefined ? undefined : points[at];
  return (
    <div
      ref={element}
      className="chart"
      // It can be walked through by arrow keys.
      tabIndex={0}
      role="group"
      aria-label={`Clicks over time, ${points.length} steps. Use the arrow keys.`}
      onKeyDown={step}
      onBlur={() => setAt(undefined)}
    >
      {width > 0 && (
        <svg
          width={width}
          height={HEIGHT}
          aria-hidden="true"
          onPointerMove={point}
          onPointerLeave={() => setAt(undefined)}
        >
          {y.ticks(TICKS).map((tick) => (
            <g key={tick} transform={`translate(0 ${y(tick)})`}>
              <line className="grid" x1={MARGIN.left} x2={width - MARGIN.right} />
              <text className="axis" x={MARGIN.left - 8} dy="0.32em" textAnchor="end">
                {compact(tick)}
              </text>
            </g>
          ))}
          {points.map(({ date }, i) =>
            i % every === 0 ? (
              <text
                key={`${date} ${i}`}
                className="axis"
                x={placeOf(i)}
                y={HEIGHT - 8}
                textAnchor={i === 0 ? "start" : "middle"}
              >
                {nameOf(date)}
              </text>
            ) : null,
          )}
          <path className="area-clicks" d={filled.curve(curveMonotoneX)(points) ?? ""} />
          <path className="line-clicks" d={shapeOf("clicks")} />
          <path className="line-unique" d={shapeOf("unique")} />
          {shown !== undefined && at !== undefined && (
            <g>
              <line
                className="cursor"
                x1={placeOf(at)}
                x2={placeOf(at)}
                y1={MARGIN.top}
                y2={HEIGHT - MARGIN.bottom}
              />
              <circle className="dot-clicks" r={4} cx={placeOf(at)} cy={y(shown.clicks)} />
              <circle className="dot-unique" r={4} cx={placeOf(at)} cy={y(shown.unique)} />
            </g>
          )}
        </svg>
      )}
      <div className="tip" role="status">
        {shown !== undefined && (
          <>
            <strong>{nameOf(shown.date)}</strong> {count(shown.clicks)} clicks,{" "}
            {count(shown.unique)} unique
          </>
        )}
      </div>
    </div>
  );
}

const nearest = (left: number, step: number, points: number): number =>
  step === 0 ? 0 : Math.min(points - 1, Math.max(0, Math.round(left / step)));

const monthDay = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", timeZone: "UTC" });

/** A step's name: the hour of the day, or the day. */
const nameOf = (date: string): string =>
  date.includes("T") ? date.slice(11) : monthDay.format(new Date(`${date}T00:00:00Z`));
