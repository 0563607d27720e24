/**
 * Names the value of a row by a button that filters the whole page by it. A link's name opens its
 * page instead.
 */
import { useQuery } from "@tanstack/react-query";
import { Link as PageLink } from "wouter";

import { readableUrl } from "../../../../../shared/contracts/host-names.ts";
import { ValueText } from "../../../../../shared/statistics/cards.tsx";
import { describeValue } from "../../../../../shared/statistics/values.ts";
import { getClient } from "../../../data/http.ts";
import { useAccountContext } from "../../../data/session.ts";
import { statisticsLanguage, t } from "../../../languages/translate.ts";
import { type Dimension, filtersOf, toggleInUrl, useAnalyticsQuery } from "../analytics-query.ts";
import { isSameFilter } from "../filters.ts";
import type { ValueRow } from "./top-values.ts";

export function ValueName({
  row: { values, name, link: linkName },
  dimension,
}: {
  row: Omit<ValueRow, "clicks" | "percentage">;
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

/** The short URL and title of a link; null when it is deleted. */
type Name = { short_url: string | null; title: string | null };

/** Queries the name unless it is passed. */
export function LinkName({ id, name }: { id: string; name?: Name | undefined }) {
  const { scope } = useAccountContext();
  const { viewSearch } = useAnalyticsQuery();
  const { data, error } = useQuery({
    enabled: name === undefined,
    queryKey: ["link", scope, id],
    queryFn: () => getClient(scope).links.get(id),
  });
  const link = name ?? data;
  const isDeleted = name?.short_url === null || error !== null;
  if (link === undefined || link.short_url === null) {
    return <span className="hint">{isDeleted ? t("analytics.deletedLink", { id }) : id}</span>;
  }
  return (
    <>
      <PageLink href={`/links/${id}${viewSearch}`}>{readableUrl(link.short_url)}</PageLink>
      {link.title !== null && <small className="hint"> {link.title}</small>}
    </>
  );
}
