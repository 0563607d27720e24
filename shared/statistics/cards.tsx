/** Cards of statistics: totals of a period, and lists of values with clicks and share. */
import type { ReactNode } from "react";

import { formatCount, formatTenths } from "./format.ts";
import { useStatisticsLanguage } from "./language.ts";
import { describePlace, describeValue, type Values } from "./values.ts";

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

export const Card = ({
  title,
  actions,
  className = "",
  children,
}: {
  title?: string;
  actions?: ReactNode;
  className?: string;
  children: ReactNode;
}) => (
  <section
    className={`card ${className}`}
    {...(title === undefined ? {} : { "aria-label": title })}
  >
    {title !== undefined && (
      <header className="card-head">
        <h2>{title}</h2>
        {actions}
      </header>
    )}
    {children}
  </section>
);

type Row = { values: Values; clicks: number; percentage: number };

export function ValueList<ValueRow extends Row>({
  rows,
  label,
  renderName,
}: {
  /** The rows, those with the most clicks first. */
  rows: readonly ValueRow[];
  label: string;
  renderName: (row: ValueRow) => ReactNode;
}) {
  const { tag, translate } = useStatisticsLanguage();
  if (rows.length === 0) return <p className="no-data">{translate("noClicks")}</p>;
  const mostClicks = rows[0]?.clicks ?? 1;
  return (
    <ol className="breakdown" aria-label={label}>
      {rows.map((row) => (
        <li key={JSON.stringify(row.values)}>
          {/* Attributes: the policy of shared pages forbids inline styles. */}
          <svg className="breakdown-bar" aria-hidden="true">
            <rect width={`${((row.clicks / mostClicks) * 100).toFixed(2)}%`} height="100%" rx="6" />
          </svg>
          <span className="breakdown-name">{renderName(row)}</span>
          <span className="breakdown-clicks">{formatCount(row.clicks, tag)}</span>
          <span className="breakdown-share">
            {translate("percent", { value: formatTenths(row.percentage, tag) })}
          </span>
        </li>
      ))}
    </ol>
  );
}

/** The text of a value, with the enclosing region and country of a place. */
export function ValueText({
  values,
  dimension,
  name,
}: {
  values: Values;
  dimension: string;
  /** Shown instead of the value. */
  name?: string | undefined;
}) {
  const language = useStatisticsLanguage();
  const place = describePlace(values, language);
  return (
    <>
      {name ?? describeValue(dimension, values[dimension] ?? "", language)}
      {place !== "" && <small className="hint"> {place}</small>}
    </>
  );
}
