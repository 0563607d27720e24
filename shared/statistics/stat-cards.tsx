/** Totals of a period. */
import type { ReactNode } from "react";

import { formatCount } from "./format.ts";

/** The totals that are displayed, in this order. */
const LABELS = {
  total_clicks: "Clicks",
  unique_clicks: "Unique visitors",
  clicks_per_day: "Clicks per day",
  bot_clicks: "Bots (not counted)",
} as const;

export type StatName = keyof typeof LABELS;

const NAMES = Object.keys(LABELS) as StatName[];

export const StatCards = ({
  totals,
  names = NAMES,
  renderChange,
}: {
  totals: Readonly<Record<StatName, number>>;
  /** The totals to show; all by default. */
  names?: readonly StatName[];
  /** Renders the change of a total since another period. */
  renderChange?: ((name: StatName) => ReactNode) | undefined;
}) => (
  <dl className="stats">
    {NAMES.filter((name) => names.includes(name)).map((name) => (
      <div key={name} className="stat" data-stat={name}>
        <dt>{LABELS[name]}</dt>
        <dd>
          <span className="stat-value">{formatCount(totals[name])}</span>
          {renderChange?.(name)}
        </dd>
      </div>
    ))}
  </dl>
);
