/** A list of values with clicks and share. A click on a value filters the whole page by it. */
import { formatCount, formatPercent } from "../../../ui/format.ts";
import { useAnalyticsQuery, useFilterActions } from "../analytics-query.ts";
import { describePlace, describeValue, type Dimension, filtersOf } from "../dimensions.ts";
import { isSameFilter } from "../filters.ts";
import { LinkName } from "./link-name.tsx";
import type { ValueRow } from "./top-values.ts";

export function ValueList({
  rows,
  dimension,
  label,
}: {
  rows: readonly ValueRow[];
  dimension: Dimension;
  label: string;
}) {
  if (rows.length === 0) return <p className="no-data">No clicks in this period.</p>;
  const mostClicks = rows[0]?.clicks ?? 1;
  return (
    <ol className="breakdown" aria-label={label}>
      {rows.map((row) => {
        const { values, clicks, percentage } = row;
        return (
          <li key={JSON.stringify(values)}>
            <span
              className="breakdown-bar"
              style={{ width: `${(clicks / mostClicks) * 100}%` }}
              aria-hidden
            />
            <span className="breakdown-name">
              <ValueName row={row} dimension={dimension} />
            </span>
            <span className="breakdown-clicks">{formatCount(clicks)}</span>
            <span className="breakdown-share">{formatPercent(percentage)}</span>
          </li>
        );
      })}
    </ol>
  );
}

/**
 * The name of a row's value, as a button that filters by it. For a link, opens its page instead.
 */
export function ValueName({
  row: { values, name, link: linkName },
  dimension,
}: {
  row: Pick<ValueRow, "values" | "name" | "link">;
  dimension: Dimension;
}) {
  const { filters, subject } = useAnalyticsQuery();
  const { toggle } = useFilterActions();
  const { link } = values;
  if (link !== undefined) return <LinkName id={link} name={linkName} />;
  const text = name ?? describeValue(dimension, values[dimension] ?? "");
  const own = filtersOf(values);
  const place = describePlace(values);
  const content = (
    <>
      {text}
      {place !== "" && <small className="hint"> {place}</small>}
    </>
  );
  // The page is about this value.
  if (subject?.name === dimension) return content;
  const isActive = own.every((filter) => filters.some((each) => isSameFilter(each, filter)));
  return (
    <button
      type="button"
      className="value-button"
      aria-pressed={isActive}
      title={isActive ? `Remove the filter ${text}` : `Show only ${text}`}
      onClick={() => toggle(own)}
    >
      {content}
    </button>
  );
}
