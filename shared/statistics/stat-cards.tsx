/** Totals of a period. */
import { type ReactNode } from "react";

import { formatCount } from "./format.ts";
import { useStatisticsLanguage } from "./language.ts";

/** The totals that are displayed, in this order, and their texts. */
const LABELS = {
  total_clicks: "clicks",
  unique_clicks: "unique",
  clicks_per_day: "perDay",
  bot_clicks: "bots",
} as const;

export type StatName = keyof typeof LABELS;

const NAMES = Object.keys(LABELS) as StatName[];

export function StatCards({
  totals,
  names = NAMES,
  renderChange,
}: {
  totals: Readonly<Record<StatName, number>>;
  /** The totals to show; all by default. */
  names?: readonly StatName[];
  /** Renders the change of a total since another period. */
  renderChange?: ((name: StatName) => ReactNode) | undefined;
}) {
  const { tag, translate } = useStatisticsLanguage();
  return (
    <dl className="stats">
      {NAMES.filter((name) => names.includes(name)).map((name) => (
        <div key={name} className="stat" data-stat={name}>
          <dt>{translate(LABELS[name])}</dt>
          <dd>
            <span className="stat-value">{formatCount(totals[name], tag)}</span>
            {renderChange?.(name)}
          </dd>
        </div>
      ))}
    </dl>
  );
}
