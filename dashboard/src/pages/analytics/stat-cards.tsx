/** Totals of a period, each with its change from the previous one. */
import { ArrowDownRight, ArrowUpRight } from "lucide-react";

import type { ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { formatCount, percentChange } from "../../ui/format.ts";

type Totals = ResponseBody<"getLinkAnalytics">["summary"];

const STATS: readonly { name: keyof Totals; label: string }[] = [
  { name: "total_clicks", label: "Clicks" },
  { name: "unique_clicks", label: "Unique visitors" },
  { name: "avg_daily_clicks", label: "Clicks per day" },
  { name: "bot_clicks", label: "Bots (not counted)" },
];

export const StatCards = ({
  totals,
  previous,
  names = STATS.map(({ name }) => name),
}: {
  totals: Totals;
  previous?: Totals | undefined;
  /** Which of them to show; all when left out. */
  names?: readonly (keyof Totals)[];
}) => (
  <dl className="stats">
    {STATS.filter(({ name }) => names.includes(name)).map(({ name, label }) => (
      <div key={name} className="stat" data-stat={name}>
        <dt>{label}</dt>
        <dd>
          <span className="stat-value">{formatCount(totals[name])}</span>
          {previous !== undefined && <Change from={previous[name]} to={totals[name]} />}
        </dd>
      </div>
    ))}
  </dl>
);

function Change({ from, to }: { from: number; to: number }) {
  const percent = percentChange(from, to);
  if (percent === undefined) return null;
  return (
    <span
      className={percent < 0 ? "change change-down" : "change"}
      title={`${formatCount(from)} before`}
    >
      {percent < 0 ? <ArrowDownRight aria-hidden /> : <ArrowUpRight aria-hidden />}
      <span className="visually-hidden">{percent < 0 ? "Down" : "Up"} by</span>
      {Math.abs(percent)} %
    </span>
  );
}
