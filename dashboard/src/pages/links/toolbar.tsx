/** Search and filters of the list of links. */
import { X } from "lucide-react";

import { readableHost } from "../../../../shared/contracts/readable-host.ts";
import { t } from "../../languages/translate.ts";
import { IconButton } from "../../ui/button.tsx";
import type { SearchUpdate } from "../../ui/search-state.ts";
import { FilterButton } from "./filter-button.tsx";
import { chooseStatus, type ListQuery, readStatus, removeTag, STATUSES } from "./list-query.ts";
import { SearchForm } from "./search-form.tsx";

type ToolbarProps = {
  query: ListQuery;
  shownTags: readonly string[];
  onChange: (update: SearchUpdate, options?: { replace: boolean }) => void;
};

export function Toolbar({ query, shownTags, onChange }: ToolbarProps) {
  const status = readStatus(query);
  return (
    <div className="toolbar">
      <SearchForm
        search={query.search ?? ""}
        onSearch={(search, options) => onChange({ search }, options)}
      />
      <select
        className="narrow"
        aria-label={t("links.list.show")}
        value={status ?? "combined"}
        onChange={(event) => onChange(chooseStatus(event.target.value))}
      >
        {STATUSES.map(({ value, label }) => (
          <option key={value} value={value}>
            {t(label)}
          </option>
        ))}
        {status === undefined && <option value="combined">{t("links.list.asInUrl")}</option>}
      </select>
      <FilterButton query={query} shownTags={shownTags} onChange={onChange} />
      {query.tags.map((tag) => (
        <Chip
          key={tag}
          text={tag}
          label={t("links.list.clearTag", { tag })}
          onClear={() => onChange(removeTag(query, tag))}
        />
      ))}
      {query.domain !== undefined && (
        <Chip
          text={readableHost(query.domain)}
          label={t("links.list.clearDomain")}
          onClear={() => onChange({ domain: undefined })}
        />
      )}
    </div>
  );
}

type ChipProps = { text: string; label: string; onClear: () => void };

const Chip = ({ text, label, onClear }: ChipProps) => (
  <span className="tag">
    {text}
    <IconButton label={label} onClick={onClear}>
      <X aria-hidden />
    </IconButton>
  </span>
);
