/** Adds a filter to the view: by what, whether it is or is not, and the values by name. */
import { Plus } from "lucide-react";
import { type FormEvent, useState } from "react";

import { CONTINENTS, describeValue } from "../../../../shared/statistics/values.ts";
import { optionsOf, toCodes } from "../../data/named-values.ts";
import { useTags } from "../../data/tags.ts";
import { statisticsLanguage } from "../../languages/statistics.ts";
import { t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { SelectField } from "../../ui/field.tsx";
import { ListField } from "../../ui/list-field.tsx";
import { PanelButton } from "../../ui/panel-button.tsx";
import { setFilters, useAnalyticsQuery } from "./analytics-query.ts";
import { addFilters, FILTER_LABELS, FILTER_NAMES, type FilterName } from "./filters.ts";

/** Filters with few values, which are chosen. */
const CHOICES: Partial<Record<FilterName, readonly string[]>> = {
  device: ["mobile", "desktop", "tablet", "other"],
  continent: Object.keys(CONTINENTS),
  class: ["human", "bot", "prefetch"],
};

/** Filters that choose links, not clicks. */
const OF_LINKS: ReadonlySet<FilterName> = new Set(["tag", "domain"]);

export const AddFilter = () => (
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
      <SelectField
        label={t("analytics.filters.by")}
        value={name}
        options={names.map((value) => ({ value, label: t(FILTER_LABELS[value]) }))}
        onChange={({ target }) => {
          // The options are exactly the names.
          setName(target.value as FilterName);
          setText("");
        }}
      />
      <SelectField
        label={t("analytics.filters.matches")}
        value={String(negated)}
        options={[
          { value: "false", label: t("analytics.filters.is") },
          { value: "true", label: t("analytics.filters.isNot") },
        ]}
        onChange={({ target }) => setNegated(target.value === "true")}
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
      <SelectField
        label={t("analytics.filters.value")}
        value={text}
        options={[
          { value: "", label: "–" },
          ...choices.map((value) => ({
            value,
            label: describeValue(name, value, statisticsLanguage()),
          })),
        ]}
        onChange={({ target }) => onChange(target.value)}
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
