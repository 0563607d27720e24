/** The sums of a time, each with its change since the time before. */
import { ArrowDownRight, ArrowUpRight } from "lucide-react";

import type { Answer } from "../../../../clients/typescript/src/index.ts";
import { change, count } from "../../ui/format.ts";

type Sums = Answer<"getSummary">["summary"];

const FIGURES: readonly { name: keyof Sums; label: string }[] = [
  { name: "total_clicks", label: "Clicks" },
  { name: "unique_clicks", label: "Unique visitors" },
  { name: "avg_daily_clicks", label: "Clicks a day" },
  { name: "bot_clicks", label: "Bots, not counted" },
];

export const Figures = ({ sums, before }: { sums: Sums; before?: Sums | undefined }) => (
  <dl className="figures">
    {FIGURES.map(({ name, label }) => (
      <div key={name} className="figure" data-figure={name}>
        <dt>{label}</dt>
        <dd>
          <span className="figure-value">{count(sums[name])}</span>
          {before !== undefined && <Change from={before[name]} to={sums[name]} />}
        </dd>
      </div>
    ))}
  </dl>
);

function Change({ from, to }: { from: number; to: number }) {
  const by = change(from, to);
  if (by === undefined) return null;
  return (
    <span className={by < 0 ? "change change-down" : "change"} title={`${count(from)} before`}>
      {by < 0 ? <ArrowDownRight aria-hidden /> : <ArrowUpRight aria-hidden />}
      <span className="visually-hidden">{by < 0 ? "Down" : "Up"} by</span>
      {Math.abs(by)} %
    </span>
  );
}
