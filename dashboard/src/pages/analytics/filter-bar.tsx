/** The filters of the view as chips: each can be reversed and removed. */
import { X } from "lucide-react";

import { describeValue } from "../../../../shared/statistics/values.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { useAnalyticsQuery, useFilterActions } from "./analytics-query.ts";
import { type Filter, FILTER_LABELS } from "./filters.ts";

export function FilterBar() {
  const { filters } = useAnalyticsQuery();
  const { set } = useFilterActions();
  if (filters.length === 0) return null;
  const replace = (old: Filter, ...next: Filter[]) =>
    set(filters.flatMap((filter) => (filter === old ? next : [filter])));
  return (
    <div className="filter-bar" role="group" aria-label="Filters">
      {filters.map((filter) => {
        const { name, negated } = filter;
        const value = describeValue(name, filter.value);
        return (
          <span key={`${name} ${negated} ${filter.value}`} className="chip">
            {FILTER_LABELS[name]}
            <button
              type="button"
              className="chip-operator"
              aria-label={`${FILTER_LABELS[name]} ${negated ? "is not" : "is"} ${value}: reverse`}
              onClick={() => replace(filter, { ...filter, negated: !negated })}
            >
              {negated ? "is not" : "is"}
            </button>
            <strong>{value}</strong>
            <IconButton
              label={`Remove filter ${FILTER_LABELS[name]} ${value}`}
              onClick={() => replace(filter)}
            >
              <X aria-hidden />
            </IconButton>
          </span>
        );
      })}
      {filters.length > 1 && (
        <Button variant="quiet" onClick={() => set([])}>
          Clear filters
        </Button>
      )}
    </div>
  );
}
