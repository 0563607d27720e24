/** The types of conditions, and the fields of one condition. */
import { Trash2 } from "lucide-react";

import { CONTINENTS } from "../../../../shared/statistics/values.ts";
import { readList } from "../../data/complete-list.ts";
import { optionsOf, toNames } from "../../data/named-values.ts";
import { t, type TextKey } from "../../languages/translate.ts";
import { IconButton } from "../../ui/button.tsx";
import { CheckField, ChoiceField, FieldError, ListField, TextField } from "../../ui/field.tsx";
import { formatWeekday } from "../../ui/format.ts";
import { type ConditionDraft, type ConditionType, newCondition } from "./draft.ts";

type ValuesProps = { condition: ConditionDraft; onChange: (condition: ConditionDraft) => void };

type ConditionFieldsProps = ValuesProps & {
  error: string | undefined;
  /** Absent for the only condition of a rule. */
  onRemove?: () => void;
};

const typeOptions = () =>
  // Object.keys loses the type of the keys.
  (Object.keys(CONDITION_TYPES) as ConditionType[]).map((value) => ({
    value,
    label: t(CONDITION_TYPES[value].label),
  }));

export function ConditionFields({ condition, error, onChange, onRemove }: ConditionFieldsProps) {
  const { type, not, key } = condition;
  const name = t(CONDITION_TYPES[type].label);
  return (
    <fieldset className="condition">
      <legend className="visually-hidden">{t("rules.condition.title", { name })}</legend>
      <div className="condition-line">
        <ChoiceField
          label={t("rules.condition.when")}
          value={type}
          options={typeOptions()}
          onChoose={(chosen) => onChange({ ...newCondition(chosen), key })}
        />
        <ChoiceField
          label={t("rules.condition.matches")}
          value={not}
          options={[
            { value: false, label: t("analytics.filters.is") },
            { value: true, label: t("analytics.filters.isNot") },
          ]}
          onChoose={(chosen) => onChange({ ...condition, not: chosen })}
        />
        {onRemove !== undefined && (
          <IconButton label={t("rules.condition.remove", { name })} onClick={onRemove}>
            <Trash2 aria-hidden />
          </IconButton>
        )}
      </div>
      <ConditionValues condition={condition} onChange={onChange} />
      <FieldError>{error}</FieldError>
    </fieldset>
  );
}

function ConditionValues({ condition, onChange }: ValuesProps) {
  const { type, values, name } = condition;
  const { options, label, example = "" } = CONDITION_TYPES[type];
  const typeName = t(label);
  if (type === "time") return <Dates condition={condition} onChange={onChange} />;
  if (type === "schedule") return <Schedule condition={condition} onChange={onChange} />;
  if (options !== undefined) {
    const chosen = values.split(", ").filter(Boolean);
    return (
      <Choices
        label={typeName}
        options={labelsOf(options)}
        chosen={chosen}
        onChange={(next) => onChange({ ...condition, values: next.join(", ") })}
      />
    );
  }
  const list = (
    <ListField
      text={values}
      options={optionsOf(type)}
      label={
        type === "query"
          ? t("analytics.filters.values")
          : t("rules.condition.oneOf", { name: typeName })
      }
      hint={
        type === "query"
          ? t("rules.condition.valuesHint")
          : t("rules.condition.example", { example: toNames(type, readList(example)) })
      }
      autoCapitalize="none"
      value={values}
      onChange={(event) => onChange({ ...condition, values: event.target.value })}
    />
  );
  if (type !== "query") return list;
  return (
    <div className="columns">
      <TextField
        label={t("fields.name")}
        autoCapitalize="none"
        spellCheck={false}
        value={name}
        onChange={(event) => onChange({ ...condition, name: event.target.value })}
      />
      {list}
    </div>
  );
}

const labelsOf = (options: Readonly<Record<string, TextKey>>): Record<string, string> =>
  Object.fromEntries(Object.entries(options).map(([value, label]) => [value, t(label)]));

/** The weekdays by their numbers, from 1 for Monday. */
const weekdays = (): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: 7 }, (_, day) => [String(day + 1), formatWeekday(day, "short")]),
  );

function Choices({
  label,
  options,
  chosen,
  onChange,
}: {
  label: string;
  options: Readonly<Record<string, string>>;
  chosen: readonly string[];
  onChange: (chosen: string[]) => void;
}) {
  return (
    <div className="choices" role="group" aria-label={label}>
      {Object.entries(options).map(([value, text]) => (
        <CheckField
          key={value}
          label={text}
          checked={chosen.includes(value)}
          onChange={(event) =>
            onChange(
              Object.keys(options).filter((option) =>
                option === value ? event.target.checked : chosen.includes(option),
              ),
            )
          }
        />
      ))}
    </div>
  );
}

const Dates = ({ condition, onChange }: ValuesProps) => (
  <div className="columns">
    <TextField
      label={t("analytics.period.from")}
      type="datetime-local"
      value={condition.from}
      onChange={(event) => onChange({ ...condition, from: event.target.value })}
    />
    <TextField
      label={t("fields.until")}
      type="datetime-local"
      value={condition.until}
      onChange={(event) => onChange({ ...condition, until: event.target.value })}
    />
  </div>
);

const Schedule = ({ condition, onChange }: ValuesProps) => (
  <>
    <Choices
      label={t("rules.condition.weekdays")}
      options={weekdays()}
      chosen={condition.days.map(String)}
      onChange={(days) => onChange({ ...condition, days: days.map(Number) })}
    />
    <div className="columns">
      <TextField
        label={t("analytics.period.from")}
        placeholder="09:00"
        value={condition.from}
        onChange={(event) => onChange({ ...condition, from: event.target.value })}
      />
      <TextField
        label={t("analytics.period.to")}
        placeholder="17:30"
        hint={t("rules.condition.toHint")}
        value={condition.until}
        onChange={(event) => onChange({ ...condition, until: event.target.value })}
      />
      <TextField
        label={t("fields.timezone")}
        value={condition.timeZone}
        onChange={(event) => onChange({ ...condition, timeZone: event.target.value })}
      />
    </div>
  </>
);

/** What the form shows of a type of conditions. */
type TypeInfo = {
  label: TextKey;
  /** The possible values, if there are few, with their labels. */
  options?: Readonly<Record<string, TextKey>>;
  /** An example of the values, separated by commas. */
  example?: string;
};

const CONTINENT_LABELS: Readonly<Record<string, TextKey>> = Object.fromEntries(
  Object.entries(CONTINENTS).map(([code, text]) => [code, `statistics.${text}` as const]),
);

export const CONDITION_TYPES: Readonly<Record<ConditionType, TypeInfo>> = {
  device: {
    label: "fields.device",
    options: {
      mobile: "statistics.mobile",
      desktop: "statistics.desktop",
      tablet: "statistics.tablet",
      other: "statistics.other",
    },
  },
  os: { label: "fields.os", example: "iOS, Android" },
  browser: { label: "fields.browser", example: "Firefox, Safari" },
  country: { label: "fields.country", example: "DE, AT" },
  continent: { label: "fields.continent", options: CONTINENT_LABELS },
  language: { label: "fields.language", example: "de, pt-br" },
  referrer: { label: "fields.referrer", example: "example.com, direct" },
  query: { label: "rules.types.query" },
  ip: { label: "rules.types.ip", example: "203.0.113.0/24" },
  time: { label: "rules.types.time" },
  schedule: { label: "analytics.heatMap.title" },
};
