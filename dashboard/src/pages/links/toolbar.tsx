/** Search and filters of the list of links. */
import { Bookmark, ListFilter, Search, X } from "lucide-react";
import { type FormEvent, useEffect, useId, useRef, useState } from "react";

import { ofEachUtm, UTM_NAMES, type UtmName } from "../../../../shared/contracts/analytics.ts";
import { readableHost } from "../../../../shared/contracts/host-names.ts";
import { useActors, useDomains, useTags } from "../../data/account-lists.ts";
import { readValue, SEARCH_LENGTH_MAX, type SearchUpdate, writeValue } from "../../data/scope.ts";
import { useAccountContext } from "../../data/session.ts";
import { fieldName } from "../../languages/errors.ts";
import { t } from "../../languages/translate.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Disclosure, Select, SelectField, TextField } from "../../ui/field.tsx";
import { formatDate } from "../../ui/format.ts";
import { PanelButton } from "../../ui/menu.tsx";
import { DEBOUNCE_MS } from "../../ui/search-state.ts";
import { SavedDialog } from "./lazy-dialogs.tsx";
import {
  addTag,
  boundOf,
  chooseStatus,
  dayOf,
  type ListQuery,
  readStatus,
  removeTag,
  replaceConditions,
  STATUSES,
  toConditions,
} from "./list-query.ts";

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
      <Select
        className="narrow"
        aria-label={t("analytics.period.show")}
        value={status ?? "combined"}
        options={[
          ...STATUSES.map(({ value, label }) => ({ value, label: t(label) })),
          ...(status === undefined ? [{ value: "combined", label: t("links.list.asInUrl") }] : []),
        ]}
        onChoose={(value) => onChange(chooseStatus(value))}
      />
      <FilterButton query={query} shownTags={shownTags} onChange={onChange} />
      {listChips(query).map(({ text, label, update }) => (
        <Chip key={label} text={text} label={label} onClear={() => onChange(update)} />
      ))}
      {query.created_by !== undefined && (
        <CreatorChip id={query.created_by} onClear={() => onChange({ created_by: undefined })} />
      )}
      <SavedFilters query={query} onChange={onChange} />
    </div>
  );
}

/** What is shown of a condition of the list, and what removes it. */
type FilterChip = { text: string; label: string; update: SearchUpdate };

function listChips(query: ListQuery): FilterChip[] {
  const { tags, domain, utm, created_after, created_before } = query;
  const days = [
    ["links.filter.from", dayOf(created_after), "created_after"],
    ["links.filter.to", dayOf(created_before, true), "created_before"],
  ] as const;
  return [
    ...tags.map((tag) => ({
      text: tag,
      label: t("links.list.clearTag", { tag }),
      update: removeTag(query, tag),
    })),
    ...[domain ?? []].flat().map((host) => ({
      text: readableHost(host),
      label: t("links.list.clearDomain"),
      update: { domain: undefined },
    })),
    ...UTM_NAMES.flatMap((name) =>
      (utm[name] ?? []).map((value, _, values) =>
        toChip(fieldName(name), value, { [name]: values.filter((other) => other !== value) }),
      ),
    ),
    ...days
      .filter(([, day]) => day !== "")
      .map(([label, day, field]) =>
        toChip(t(label), formatDate(`${day}T00:00`), { [field]: undefined }),
      ),
  ];
}

/** A chip for a value as the API takes it. */
function toChip(name: string, text: string, update: SearchUpdate): FilterChip {
  const { value, negated } = readValue(text);
  const filter = t(negated ? "links.filter.excluded" : "links.filter.shown", { name, value });
  return { text: filter, label: t("links.filter.clear", { filter }), update };
}

function CreatorChip({ id, onClear }: { id: string; onClear: () => void }) {
  const name = useActors().find((actor) => actor.id === id)?.name ?? id;
  const { text, label } = toChip(t("fields.created_by"), writeValue(name), {});
  return <Chip text={text} label={label} onClear={onClear} />;
}

function SavedFilters({ query, onChange }: Omit<ToolbarProps, "shownTags">) {
  return (
    <Button
      opens={(close) => (
        <SavedDialog
          kind="linkFilters"
          query={toConditions(query)}
          onOpen={(saved) => onChange(replaceConditions(saved))}
          onClose={close}
        />
      )}
    >
      <Bookmark aria-hidden /> {t("saved.linkFilters.open")}
    </Button>
  );
}

const Chip = ({ text, label, onClear }: { text: string; label: string; onClear: () => void }) => (
  <span className="tag">
    {text}
    <IconButton label={label} onClick={onClear}>
      <X aria-hidden />
    </IconButton>
  </span>
);

type SearchFormProps = {
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

type FilterProps = {
  query: ListQuery;
  /** Tags of the displayed links, as options. */
  shownTags: readonly string[];
  onChange: (update: SearchUpdate) => void;
};

const FilterButton = (props: FilterProps) => (
  <PanelButton label={t("links.filter.title")} icon={<ListFilter aria-hidden />}>
    {(close) => <Fields {...props} onDone={close} />}
  </PanelButton>
);

function Fields({ query, shownTags, onChange, onDone }: FilterProps & { onDone: () => void }) {
  const [tag, setTag] = useState("");
  const listId = useId();
  const tags = useTags();
  const hosts = useHosts();
  function submit(event: FormEvent): void {
    event.preventDefault();
    onChange(addTag(query, tag));
    setTag("");
    onDone();
  }
  return (
    <div className="stack">
      <form className="stack" onSubmit={submit}>
        <TextField
          label={t("fields.tag")}
          list={listId}
          autoComplete="off"
          maxLength={50}
          value={tag}
          onChange={(event) => setTag(event.target.value)}
        />
        <datalist id={listId}>
          {[...new Set([...shownTags, ...tags.map(({ name }) => name)])].map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <Button type="submit" disabled={tag.trim() === ""}>
          {t("links.filter.addTag")}
        </Button>
      </form>
      <SelectField
        label={t("fields.domain")}
        options={[
          { value: "", label: t("links.filter.any") },
          ...hosts.map((host) => ({ value: host, label: readableHost(host) })),
        ]}
        value={query.domain ?? ""}
        onChange={(event) => {
          onChange({ domain: event.target.value });
          onDone();
        }}
      />
      <Disclosure title={t("links.filter.more")}>
        <MoreFields
          query={query}
          onChange={(update) => {
            onChange(update);
            onDone();
          }}
        />
      </Disclosure>
    </div>
  );
}

/** The conditions on UTM parameters, time of creation and creator, which are applied together. */
function MoreFields({ query, onChange }: Omit<FilterProps, "shownTags">) {
  const actors = useActors();
  const [texts, setTexts] = useState(() => textsOf(query));
  const field = (name: keyof typeof texts) => ({
    value: texts[name],
    onChange: ({ target }: { target: { value: string } }) =>
      setTexts({ ...texts, [name]: target.value }),
  });
  function submit(event: FormEvent): void {
    event.preventDefault();
    onChange(updateOf(query, texts));
  }
  return (
    <form className="stack" onSubmit={submit}>
      {UTM_NAMES.map((name) => (
        <TextField key={name} label={fieldName(name)} maxLength={255} {...field(name)} />
      ))}
      <TextField type="date" label={t("links.filter.from")} {...field("from")} />
      <TextField type="date" label={t("links.filter.to")} {...field("to")} />
      <SelectField
        label={t("fields.created_by")}
        options={[
          { value: "", label: t("links.filter.any") },
          ...actors.map(({ type, id, name }) => ({
            value: id,
            label: type === "user" ? name : t("activity.actors.key", { name }),
          })),
        ]}
        {...field("created_by")}
      />
      <Button type="submit">{t("links.filter.apply")}</Button>
    </form>
  );
}

type Texts = Record<UtmName | "from" | "to" | "created_by", string>;

/** The texts of the fields for a query: a field has one value, of several the first. */
const textsOf = ({ utm, ...query }: ListQuery): Texts => ({
  ...ofEachUtm((name) => shownValue(utm[name])),
  from: dayOf(query.created_after),
  to: dayOf(query.created_before, true),
  created_by: query.created_by ?? "",
});

/** The URL update to what has been changed in the fields. */
function updateOf(query: ListQuery, texts: Texts): SearchUpdate {
  const before = textsOf(query);
  const changed = UTM_NAMES.filter((name) => texts[name].trim() !== before[name]);
  return {
    ...Object.fromEntries(changed.map((name) => [name, writeValue(texts[name].trim())])),
    ...(texts.from === before.from ? {} : { created_after: boundOf(texts.from) }),
    ...(texts.to === before.to ? {} : { created_before: boundOf(texts.to, true) }),
    created_by: texts.created_by,
  };
}

function shownValue([text = "", ...others]: readonly string[] = []): string {
  const { value, negated } = readValue(text);
  return negated || others.length > 0 ? "" : value;
}

/** The hosts that links can be on, the service's own first. */
function useHosts(): string[] {
  const { session } = useAccountContext();
  return [new URL(session.short_url).host, ...useDomains().map(({ domain }) => domain)];
}
