/** The filters of the view as chips: each can be reversed and removed. */
import { X } from "lucide-react";

import { describeValue } from "../../../../shared/statistics/values.ts";
import { statisticsLanguage } from "../../languages/statistics.ts";
import { t } from "../../languages/translate.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { AddFilter } from "./add-filter.tsx";
import { setFilters, useAnalyticsQuery } from "./analytics-query.ts";
import { type Filter, FILTER_LABELS } from "./filters.ts";

export function FilterBar() {
  const { filters } = useAnalyticsQuery();
  const replace = (old: Filter, ...next: Filter[]) =>
    setFilters(filters.flatMap((filter) => (filter === old ? next : [filter])));
  return (
    <div className="filter-bar" role="group" aria-label={t("analytics.filters.title")}>
      {filters.map((filter) => {
        const { name, negated } = filter;
        const label = t(FILTER_LABELS[name]);
        const operator = negated ? t("analytics.filters.isNot") : t("analytics.filters.is");
        const value = describeValue(name, filter.value, statisticsLanguage());
        return (
          <span key={`${name} ${negated} ${filter.value}`} className="chip">
            {label}
            <button
              type="button"
              className="chip-operator"
              aria-label={t("analytics.filters.reverse", { name: label, operator, value })}
              onClick={() => replace(filter, { ...filter, negated: !negated })}
            >
              {operator}
            </button>
            <strong>{value}</strong>
            <IconButton
              label={t("analytics.filters.remove", { name: label, value })}
              onClick={() => replace(filter)}
            >
              <X aria-hidden />
            </IconButton>
          </span>
        );
      })}
      <AddFilter />
      {filters.length > 1 && (
        <Button variant="quiet" onClick={() => setFilters([])}>
          {t("analytics.filters.clear")}
        </Button>
      )}
    </div>
  );
}
