/** Totals of a period, each with its change from the previous one. */
import { ArrowDownRight, ArrowUpRight } from "lucide-react";

import type { ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { describeChange, type Direction, formatCount } from "../../ui/format.ts";

type Totals = ResponseBody<"getLinkAnalytics">["summary"];

/** Whether an increase is good news; more bots are neither good nor bad. */
const STATS: readonly { name: keyof Totals; label: string; isNeutral?: boolean }[] = [
  { name: "total_clicks", label: "Clicks" },
  { name: "unique_clicks", label: "Unique visitors" },
  { name: "clicks_per_day", label: "Clicks per day" },
  { name: "bot_clicks", label: "Bots (not counted)", isNeutral: true },
];

export const StatCards = ({
  totals,
  previous,
  names = STATS.map(({ name }) => name),
}: {
  totals: Totals;
  previous?: Totals | undefined;
  /** The statistics to show; all by default. */
  names?: readonly (keyof Totals)[];
}) => (
  <dl className="stats">
    {STATS.filter(({ name }) => names.includes(name)).map(({ name, label, isNeutral = false }) => (
      <div key={name} className="stat" data-stat={name}>
        <dt>{label}</dt>
        <dd>
          <span className="stat-value">{formatCount(totals[name])}</span>
          {previous !== undefined && (
            <Change from={previous[name]} to={totals[name]} isNeutral={isNeutral} />
          )}
        </dd>
      </div>
    ))}
  </dl>
);

/** Whether a change is displayed as good news (up), as bad news (down), or as neither. */
export const toneOf = (direction: Direction, isNeutral: boolean): "up" | "down" | "neutral" =>
  isNeutral || direction === "none" ? "neutral" : direction;

function Change({ from, to, isNeutral }: { from: number; to: number; isNeutral: boolean }) {
  const change = describeChange(from, to);
  if (change === undefined) return null;
  const { direction, text } = change;
  const tone = toneOf(direction, isNeutral);
  return (
    <span className={`change change-${tone}`} title={`${formatCount(from)} before`}>
      {direction === "up" && <ArrowUpRight aria-hidden />}
      {direction === "down" && <ArrowDownRight aria-hidden />}
      {direction !== "none" && (
        <span className="visually-hidden">{direction === "up" ? "Up by" : "Down by"}</span>
      )}
      {text}
    </span>
  );
}
