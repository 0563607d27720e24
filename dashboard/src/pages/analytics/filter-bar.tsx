/** The filters of the view as chips, which can be reversed and removed, and a form for another. */
import { Plus, X } from "lucide-react";
import { type FormEvent, useState } from "react";

import { IMPORTED, TRIGGERS } from "../../../../shared/contracts/analytics.ts";
import { CONTINENTS, describeValue } from "../../../../shared/statistics/values.ts";
import { useTags } from "../../data/account-lists.ts";
import { optionsOf, toCodes } from "../../data/named-values.ts";
import { statisticsLanguage, t } from "../../languages/translate.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { ChoiceField, ListField } from "../../ui/field.tsx";
import { PanelButton } from "../../ui/menu.tsx";
import { setFilters, useAnalyticsQuery } from "./analytics-query.ts";
import {
  addFilters,
  type Filter,
  FILTER_LABELS,
  FILTER_NAMES,
  type FilterName,
} from "./filters.ts";

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

/** Filters with few values, which are chosen. */
const CHOICES: Partial<Record<FilterName, readonly string[]>> = {
  device: ["mobile", "desktop", "tablet", "other"],
  continent: Object.keys(CONTINENTS),
  class: ["human", "bot", "prefetch"],
  trigger: TRIGGERS,
  imported: IMPORTED,
};

/** Filters that choose links, not clicks. */
const OF_LINKS: ReadonlySet<FilterName> = new Set(["tag", "domain"]);

const AddFilter = () => (
  <PanelButton label={t("analytics.filters.add")} icon={<Plus aria-hidden />}>
    {(close) => <Fields onDone={close} />}
  </PanelButton>
);

function Fields({ onDone }: { onDone: () => void }) {
  const { filters, link } = useAnalyticsQuery();
  // A single link has its tags and its domain.
  const names = FILTER_NAMES.filter((each) => link === undefined || !OF_LINKS.has(each));
  const [name, setName] = useState<FilterName>("country");
  const [negated, setNegated] = useState(false);
  const [text, setText] = useState("");
  const values = CHOICES[name] === undefined ? toCodes(name, text) : [text].filter(Boolean);
  function submit(event: FormEvent): void {
    event.preventDefault();
    setFilters(
      addFilters(
        filters,
        values.map((value) => ({ name, value, negated })),
      ),
    );
    onDone();
  }
  return (
    <form className="stack" onSubmit={submit}>
      <ChoiceField
        label={t("analytics.filters.by")}
        value={name}
        options={names.map((value) => ({ value, label: t(FILTER_LABELS[value]) }))}
        onChoose={(chosen) => {
          setName(chosen);
          setText("");
        }}
      />
      <ChoiceField
        label={t("analytics.filters.matches")}
        value={negated}
        options={[
          { value: false, label: t("analytics.filters.is") },
          { value: true, label: t("analytics.filters.isNot") },
        ]}
        onChoose={setNegated}
      />
      <ValuesField name={name} text={text} onChange={setText} />
      <Button type="submit" variant="primary" disabled={values.length === 0}>
        {t("analytics.filters.apply")}
      </Button>
    </form>
  );
}

type ValuesFieldProps = { name: FilterName; text: string; onChange: (text: string) => void };

function ValuesField({ name, text, onChange }: ValuesFieldProps) {
  const tags = useTags();
  const choices = CHOICES[name];
  if (choices !== undefined) {
    return (
      <ChoiceField
        label={t("analytics.filters.value")}
        value={text}
        options={[
          { value: "", label: "–" },
          ...choices.map((value) => ({
            value,
            label: describeValue(name, value, statisticsLanguage()),
          })),
        ]}
        onChoose={onChange}
      />
    );
  }
  return (
    <ListField
      label={t("analytics.filters.values")}
      hint={t("links.form.tagsHint")}
      text={text}
      options={name === "tag" ? tags.map((tag) => ({ name: tag.name })) : optionsOf(name)}
      value={text}
      autoCapitalize="none"
      onChange={({ target }) => onChange(target.value)}
    />
  );
}
