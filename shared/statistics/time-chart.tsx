/**
 * Clicks and unique visitors over time, as a drawing and as a table. The drawing has the width of
 * its container without measuring it, so that a page without scripts can contain it.
 */
import { type ScaleLinear, scaleLinear } from "d3-scale";
import { area, curveMonotoneX, line } from "d3-shape";
import { type SVGProps } from "react";

import { anchorOf, finishedOf, type Point, positionOf, unfinishedOf } from "./chart-series.ts";
import { formatCompact, formatCount, formatPointDate } from "./format.ts";
import { type StatisticsLanguage, useStatisticsLanguage } from "./language.ts";

/** Heights in pixels; widths are shares of the container's. */
const HEIGHT = 260;
const MARGIN = { top: 12, bottom: 28 };
const AXIS_WIDTH = 44;

/** Width of the lines' coordinate system, which is stretched to that of the plot. */
const UNITS = 1_000;

const TICKS = 4;

/** Maximum labels of dates; on narrow screens every other one is hidden. */
const LABELS_MAX = 8;

export type Series = {
  points: readonly Point[];
  /** The points of the comparison period, matched to the current ones by index. */
  earlier: readonly Point[] | undefined;
};

export function Legend({ earlier }: { earlier: Series["earlier"] }) {
  const { translate } = useStatisticsLanguage();
  return (
    <ul className="legend">
      <li className="legend-clicks">{translate("clicks")}</li>
      <li className="legend-unique">{translate("unique")}</li>
      {earlier !== undefined && <li className="legend-earlier">{translate("clicksBefore")}</li>}
    </ul>
  );
}

/** The text of a point; of its date, `so far` if it is not over. */
export const describePoint = (
  { date, clicks, unique, unfinished }: Point,
  { tag, translate }: StatisticsLanguage,
): string =>
  translate(unfinished ? "pointSoFar" : "point", {
    date: formatPointDate(date, tag),
    clicks,
    unique,
  });

/** The head and rows of a table of the points. */
export const pointColumns = (
  earlier: Series["earlier"],
  { translate }: StatisticsLanguage,
): string[] => [
  translate("date"),
  translate("clicks"),
  translate("unique"),
  ...(earlier === undefined ? [] : [translate("before")]),
];

export function PointRows({ points, earlier }: Series) {
  const { tag, translate } = useStatisticsLanguage();
  return points.map(({ date, clicks, unique, unfinished }, i) => {
    const day = formatPointDate(date, tag);
    return (
      // When clocks are set back, an hour's label occurs twice.
      <tr key={`${date} ${i}`}>
        <th scope="row">{unfinished ? translate("soFar", { date: day }) : day}</th>
        <td>{formatCount(clicks, tag)}</td>
        <td>{formatCount(unique, tag)}</td>
        {earlier !== undefined && <td>{formatCount(earlier[i]?.clicks ?? 0, tag)}</td>}
      </tr>
    );
  });
}

type ChartDrawingProps = Series & {
  /** The index of the point that is marked. */
  selected?: number | undefined;
  /** Whether each point has a tooltip of the browser's own. */
  hasTitles?: boolean;
  /** Attributes of the plot, without the axis of clicks. */
  plot?: SVGProps<SVGSVGElement>;
};

export function ChartDrawing({
  points,
  earlier = [],
  selected,
  hasTitles = false,
  plot = {},
}: ChartDrawingProps) {
  const { tag } = useStatisticsLanguage();
  const compared = earlier.slice(0, points.length);
  const y = scaleOf([...points, ...compared]);
  // A line needs two points.
  const marked = points.length === 1 ? 0 : selected;
  const point = marked === undefined ? undefined : points[marked];
  return (
    <div className="chart-drawing">
      <svg className="chart-axis" width={AXIS_WIDTH} height={HEIGHT} aria-hidden="true">
        {y.ticks(TICKS).map((tick) => (
          <text key={tick} className="axis" x={AXIS_WIDTH - 8} y={y(tick)} dy="0.32em">
            {formatCompact(tick, tag)}
          </text>
        ))}
      </svg>
      <svg className="chart-plot" width="100%" height={HEIGHT} aria-hidden="true" {...plot}>
        {y.ticks(TICKS).map((tick) => (
          <line key={tick} className="grid" x2="100%" y1={y(tick)} y2={y(tick)} />
        ))}
        <DateLabels points={points} />
        <svg viewBox={`0 0 ${UNITS} ${HEIGHT}`} height={HEIGHT} preserveAspectRatio="none">
          <Lines points={points} compared={compared} y={y} />
        </svg>
        {point !== undefined && marked !== undefined && (
          <Cursor x={percent(positionOf(marked, points.length))} point={point} y={y} />
        )}
        {hasTitles && <Titles points={points} />}
      </svg>
    </div>
  );
}

const percent = (share: number): string => `${Math.round(share * 10_000) / 100}%`;

type Scale = ScaleLinear<number, number>;

/** The distance from the top, in pixels, by clicks. */
const scaleOf = (points: readonly Point[]): Scale =>
  scaleLinear()
    .domain([0, points.reduce((most, { clicks }) => Math.max(most, clicks), 4)])
    .nice(TICKS)
    .range([HEIGHT - MARGIN.bottom, MARGIN.top]);

function DateLabels({ points }: { points: readonly Point[] }) {
  const { tag } = useStatisticsLanguage();
  const interval = Math.ceil(points.length / LABELS_MAX);
  return points.map(({ date }, i) => {
    if (i % interval !== 0) return null;
    const position = positionOf(i, points.length);
    return (
      <text
        key={`${date} ${i}`}
        className={(i / interval) % 2 === 0 ? "axis" : "axis axis-minor"}
        x={percent(position)}
        y={HEIGHT - 8}
        textAnchor={anchorOf(position)}
      >
        {formatPointDate(date, tag)}
      </text>
    );
  });
}

type LinesProps = { points: readonly Point[]; compared: readonly Point[]; y: Scale };

function Lines({ points, compared, y }: LinesProps) {
  const finished = finishedOf(points);
  const unfinished = unfinishedOf(points);
  const getX = (i: number) => positionOf(i, points.length) * UNITS;
  const drawLine = (name: "clicks" | "unique", series: readonly Point[], first = 0) =>
    line<Point>(
      (_, i) => getX(first + i),
      (point) => y(point[name]),
    )
      .digits(1)
      .curve(curveMonotoneX)(series) ?? "";
  const drawUnfinished = (name: "clicks" | "unique") =>
    drawLine(name, unfinished, points.length - unfinished.length);
  const drawArea = area<Point>(
    (_, i) => getX(i),
    y(0),
    ({ clicks }) => y(clicks),
  );
  return (
    <>
      <path className="area-clicks" d={drawArea.digits(1).curve(curveMonotoneX)(finished) ?? ""} />
      <path className="line-earlier" d={drawLine("clicks", compared)} />
      <path className="line-clicks" d={drawLine("clicks", finished)} />
      <path className="line-unique" d={drawLine("unique", finished)} />
      <path className="line-clicks line-unfinished" d={drawUnfinished("clicks")} />
      <path className="line-unique line-unfinished" d={drawUnfinished("unique")} />
    </>
  );
}

const Cursor = ({ x, point, y }: { x: string; point: Point; y: Scale }) => (
  <g>
    <line className="cursor" x1={x} x2={x} y1={MARGIN.top} y2={HEIGHT - MARGIN.bottom} />
    <circle className="dot-clicks" r={4} cx={x} cy={y(point.clicks)} />
    <circle className="dot-unique" r={4} cx={x} cy={y(point.unique)} />
  </g>
);

/** Invisible bars with the texts of the points. */
function Titles({ points }: { points: readonly Point[] }) {
  const language = useStatisticsLanguage();
  return points.map((point, i) => {
    const center = positionOf(i, points.length);
    const half = 0.5 / Math.max(1, points.length - 1);
    const left = Math.max(0, center - half);
    return (
      <rect
        key={`${point.date} ${i}`}
        className="hit"
        x={percent(left)}
        width={percent(Math.min(1, center + half) - left)}
        height={HEIGHT - MARGIN.bottom}
      >
        <title>{describePoint(point, language)}</title>
      </rect>
    );
  });
}
