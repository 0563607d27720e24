/** Search and filters of the list of links. */
import { Bookmark, Search, X } from "lucide-react";
import { lazy, Suspense, useEffect, useRef, useState } from "react";

import { readableHost } from "../../../../shared/contracts/host-names.ts";
import { useActors } from "../../data/account-lists.ts";
import type { TextKey } from "../../languages/catalogues.ts";
import { fieldName } from "../../languages/errors.ts";
import { t } from "../../languages/translate.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { DEBOUNCE_MS } from "../../ui/debounced.ts";
import { formatDate } from "../../ui/format.ts";
import type { SearchUpdate } from "../../ui/search-state.ts";
import { FilterButton } from "./filter-button.tsx";
import {
  chooseStatus,
  dayOf,
  type ListQuery,
  readStatus,
  readValue,
  removeTag,
  replaceConditions,
  STATUSES,
  toConditions,
  UTM_PARAMETERS,
} from "./list-query.ts";

const SavedDialog = lazy(async () => ({ default: (await import("./dialogs.tsx")).SavedDialog }));

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
      {listChips(query).map(({ name, value, isExcluded, update }) => {
        const text = t(isExcluded ? "links.filter.excluded" : "links.filter.shown", {
          name,
          value,
        });
        return (
          <Chip
            key={text}
            text={text}
            label={t("links.filter.clear", { filter: text })}
            onClear={() => onChange(update)}
          />
        );
      })}
      {query.created_by !== undefined && (
        <CreatorChip id={query.created_by} onClear={() => onChange({ created_by: undefined })} />
      )}
      <SavedFilters query={query} onChange={onChange} />
    </div>
  );
}

type FilterChip = { name: string; value: string; isExcluded: boolean; update: SearchUpdate };

/** The conditions on UTM parameters and on the time of creation, each with what removes it. */
function listChips({ utm, created_after, created_before }: ListQuery): FilterChip[] {
  const ofUtm = UTM_PARAMETERS.flatMap((name) => {
    const texts = utm[name] ?? [];
    return texts.map((text) => ({
      name: fieldName(name),
      ...readValue(text),
      update: { [name]: texts.filter((other) => other !== text) },
    }));
  });
  return [
    ...ofUtm,
    ...dayChips("links.filter.from", dayOf(created_after), "created_after"),
    ...dayChips("links.filter.to", dayOf(created_before, true), "created_before"),
  ];
}

const dayChips = (label: TextKey, day: string, field: string): FilterChip[] =>
  day === ""
    ? []
    : [
        {
          name: t(label),
          value: formatDate(`${day}T00:00`),
          isExcluded: false,
          update: { [field]: "" },
        },
      ];

function CreatorChip({ id, onClear }: { id: string; onClear: () => void }) {
  const name = useActors().find((actor) => actor.id === id)?.name ?? id;
  const text = t("links.filter.shown", { name: t("links.filter.createdBy"), value: name });
  return <Chip text={text} label={t("links.filter.clear", { filter: text })} onClear={onClear} />;
}

function SavedFilters({ query, onChange }: Omit<ToolbarProps, "shownTags">) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>
        <Bookmark aria-hidden /> {t("saved.linkFilters.open")}
      </Button>
      <Suspense>
        {open && (
          <SavedDialog
            kind="linkFilters"
            query={toConditions(query)}
            onOpen={(saved) => onChange(replaceConditions(saved))}
            onClose={() => setOpen(false)}
          />
        )}
      </Suspense>
    </>
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

/** Maximum characters of the API's search. */
const SEARCH_LENGTH_MAX = 255;

type SearchFormProps = {
  /** The search of the page's URL. */
  search: string;
  /**
   * With `replace`, the search continues the previous one: both are one step of the browser's
   * history.
   */
  onSearch: (text: string, options: { replace: boolean }) => void;
};

/** Searches while the user types, after a short pause, and immediately on Enter. */
function SearchForm({ search, onSearch }: SearchFormProps) {
  const [text, setText] = useState(search);
  /** The current or next text in the URL. */
  const sent = useRef(search);
  const isContinuation = useRef(false);

  function send(): void {
    const trimmed = text.trim();
    if (trimmed === sent.current) return;
    sent.current = trimmed;
    onSearch(trimmed, { replace: isContinuation.current });
    isContinuation.current = true;
  }
  useEffect(() => {
    if (search === sent.current) return;
    // The user has gone back, or followed a link.
    sent.current = search;
    isContinuation.current = false;
    setText(search);
  }, [search]);
  useEffect(() => {
    const timer = setTimeout(send, DEBOUNCE_MS);
    return () => clearTimeout(timer);
  });

  return (
    <form
      role="search"
      className="search"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Search aria-hidden />
      <input
        type="search"
        aria-label={t("commands.meanings.search")}
        aria-keyshortcuts="/"
        placeholder={t("links.list.searchHint")}
        maxLength={SEARCH_LENGTH_MAX}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onBlur={() => {
          send();
          isContinuation.current = false;
        }}
      />
    </form>
  );
}
