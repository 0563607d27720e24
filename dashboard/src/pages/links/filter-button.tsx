/** Filters the list of links by what they have, in a panel that opens from a button. */
import { ListFilter } from "lucide-react";
import { type FormEvent, useId, useState } from "react";

import { readableHost } from "../../../../shared/contracts/host-names.ts";
import type { UtmName } from "../../../../shared/contracts/query-string.ts";
import { useActors, useDomains, useTags } from "../../data/account-lists.ts";
import { useAccountContext } from "../../data/session.ts";
import { fieldName } from "../../languages/errors.ts";
import { t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { Disclosure, SelectField, TextField } from "../../ui/field.tsx";
import { PanelButton } from "../../ui/menu.tsx";
import type { SearchUpdate } from "../../ui/search-state.ts";
import {
  addTag,
  beginningOf,
  dayOf,
  type ListQuery,
  readValue,
  UTM_PARAMETERS,
  writeValue,
} from "./list-query.ts";

type FilterProps = {
  query: ListQuery;
  /** Tags of the displayed links, as options. */
  shownTags: readonly string[];
  onChange: (update: SearchUpdate) => void;
};

export const FilterButton = (props: FilterProps) => (
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
          label={t("links.filter.tag")}
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
        label={t("links.filter.domain")}
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
      <Disclosure title={t("links.filter.more")} hasError={false}>
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
      {UTM_PARAMETERS.map((name) => (
        <TextField key={name} label={fieldName(name)} maxLength={255} {...field(name)} />
      ))}
      <TextField type="date" label={t("links.filter.from")} {...field("from")} />
      <TextField type="date" label={t("links.filter.to")} {...field("to")} />
      <SelectField
        label={t("links.filter.createdBy")}
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

/** What the fields say of a query; of several values, of which fields have none, the first. */
const textsOf = ({ utm, ...query }: ListQuery): Texts => ({
  utm_source: shownValue(utm.utm_source),
  utm_medium: shownValue(utm.utm_medium),
  utm_campaign: shownValue(utm.utm_campaign),
  utm_term: shownValue(utm.utm_term),
  utm_content: shownValue(utm.utm_content),
  from: dayOf(query.created_after),
  to: dayOf(query.created_before, true),
  created_by: query.created_by ?? "",
});

/** The URL update to what has been changed in the fields. */
function updateOf(query: ListQuery, texts: Texts): SearchUpdate {
  const before = textsOf(query);
  const changed = UTM_PARAMETERS.filter((name) => texts[name].trim() !== before[name]);
  return {
    ...Object.fromEntries(changed.map((name) => [name, writeValue(texts[name].trim())])),
    ...(texts.from === before.from ? {} : { created_after: beginningOf(texts.from) }),
    ...(texts.to === before.to ? {} : { created_before: beginningOf(texts.to, true) }),
    created_by: texts.created_by,
  };
}

function shownValue([text = "", ...others]: readonly string[] = []): string {
  const { value, isExcluded } = readValue(text);
  return isExcluded || others.length > 0 ? "" : value;
}

/** The hosts that links can be on, the service's own first. */
function useHosts(): string[] {
  const { session } = useAccountContext();
  return [new URL(session.short_url).host, ...useDomains().map(({ domain }) => domain)];
}
