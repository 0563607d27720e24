/** The dimensions of breakdowns: their names, and how their values are filtered. */
import type { Values } from "../../../../shared/statistics/values.ts";
import { t } from "../../languages/translate.ts";
import { type Filter, FILTER_LABELS, type FilterName, only } from "./filters.ts";

/** A filter's name; or `link`, which is not a filter. */
export type Dimension = Exclude<FilterName, "class"> | "link";

export const dimensionLabel = (dimension: Dimension): string =>
  t(dimension === "link" ? "links.table.link" : FILTER_LABELS[dimension]);

/** The filters that select the clicks of a row; none for links, which have their own page. */
export const filtersOf = (values: Values): Filter[] =>
  Object.entries(values).flatMap(([name, value]) =>
    isFilterName(name) ? [only(name, value)] : [],
  );

/** Whether a name is that of a filter. */
export const isFilterName = (name: string): name is FilterName => name in FILTER_LABELS;
