/**
 * The name of a row's value, as a button that filters the whole page by it. For a link, opens its
 * page instead.
 */
import { ValueText } from "../../../../../shared/statistics/cards.tsx";
import { describeValue } from "../../../../../shared/statistics/values.ts";
import { statisticsLanguage } from "../../../languages/statistics.ts";
import { t } from "../../../languages/translate.ts";
import { toggleInUrl, useAnalyticsQuery } from "../analytics-query.ts";
import { type Dimension, filtersOf } from "../dimensions.ts";
import { isSameFilter } from "../filters.ts";
import { LinkName } from "./link-name.tsx";
import type { ValueRow } from "./top-values.ts";

export function ValueName({
  row: { values, name, link: linkName },
  dimension,
}: {
  row: Pick<ValueRow, "values" | "name" | "link">;
  dimension: Dimension;
}) {
  const { filters, subject } = useAnalyticsQuery();
  const { link } = values;
  if (link !== undefined) return <LinkName id={link} name={linkName} />;
  const text = name ?? describeValue(dimension, values[dimension] ?? "", statisticsLanguage());
  const own = filtersOf(values);
  const content = <ValueText values={values} dimension={dimension} name={text} />;
  // The page is about this value.
  if (subject?.name === dimension) return content;
  const isActive = own.every((filter) => filters.some((each) => isSameFilter(each, filter)));
  return (
    <button
      type="button"
      className="value-button"
      aria-pressed={isActive}
      title={t(isActive ? "analytics.filters.removeValue" : "analytics.filters.showOnly", {
        value: text,
      })}
      onClick={() => toggleInUrl(own)}
    >
      {content}
    </button>
  );
}
