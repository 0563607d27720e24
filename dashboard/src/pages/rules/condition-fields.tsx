/** The fields of one condition. */
import { Trash2 } from "lucide-react";

import { IconButton } from "../../ui/button.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { countryName } from "../../ui/format.ts";
import { CONDITION_TYPES, WEEKDAYS } from "./condition-types.ts";
import { type ConditionDraft, type ConditionType, newCondition } from "./draft.ts";

type ConditionFieldsProps = {
  condition: ConditionDraft;
  error: string | undefined;
  onChange: (condition: ConditionDraft) => void;
  /** Absent for the only condition of a rule. */
  onRemove?: () => void;
};

const TYPE_OPTIONS = Object.entries(CONDITION_TYPES).map(([value, { label }]) => ({
  value,
  label,
}));

export function ConditionFields({ condition, error, onChange, onRemove }: ConditionFieldsProps) {
  const { type, not, key } = condition;
  const { label } = CONDITION_TYPES[type];
  return (
    <fieldset className="condition">
      <legend className="visually-hidden">Condition {label}</legend>
      <div className="condition-line">
        <SelectField
          label="When"
          value={type}
          options={TYPE_OPTIONS}
          onChange={(event) =>
            // The options are exactly the types.
            onChange({ ...newCondition(event.target.value as ConditionType), key })
          }
        />
        <SelectField
          label="matches"
          value={not ? "not" : "is"}
          options={[
            { value: "is", label: "is" },
            { value: "not", label: "is not" },
          ]}
          onChange={(event) => onChange({ ...condition, not: event.target.value === "not" })}
        />
        {onRemove !== undefined && (
          <IconButton label={`Remove condition ${label}`} onClick={onRemove}>
            <Trash2 aria-hidden />
          </IconButton>
        )}
      </div>
      <ConditionValues condition={condition} onChange={onChange} />
      {error !== undefined && (
        <small className="field-error" role="alert">
          {error}
        </small>
      )}
    </fieldset>
  );
}

type ValuesProps = Pick<ConditionFieldsProps, "condition" | "onChange">;

function ConditionValues({ condition, onChange }: ValuesProps) {
  const { type, values, name } = condition;
  const { options, label, example } = CONDITION_TYPES[type];
  if (type === "time") return <Dates condition={condition} onChange={onChange} />;
  if (type === "schedule") return <Schedule condition={condition} onChange={onChange} />;
  if (options !== undefined) {
    const chosen = values.split(", ").filter(Boolean);
    return (
      <Choices
        label={label}
        options={options}
        chosen={chosen}
        onChange={(next) => onChange({ ...condition, values: next.join(", ") })}
      />
    );
  }
  const list = (
    <TextField
      label={type === "query" ? "Values" : `${label}: one of`}
      hint={hintOf(condition, example)}
      autoCapitalize="none"
      spellCheck={false}
      value={values}
      onChange={(event) => onChange({ ...condition, values: event.target.value })}
    />
  );
  if (type !== "query") return list;
  return (
    <div className="columns">
      <TextField
        label="Name"
        autoCapitalize="none"
        spellCheck={false}
        value={name}
        onChange={(event) => onChange({ ...condition, name: event.target.value })}
      />
      {list}
    </div>
  );
}

/** The hint for the input; for countries, the names of the entered codes. */
function hintOf({ type, values }: ConditionDraft, example = ""): string {
  if (type === "query") return "Separated by commas; empty for any.";
  const codes = values.toUpperCase().match(/\b[A-Z]{2}\b/g);
  if (type === "country" && codes !== null)
    return codes.map((code) => countryName(code)).join(", ");
  return `For example: ${example}`;
}

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
        <label key={value} className="check">
          <input
            type="checkbox"
            checked={chosen.includes(value)}
            onChange={(event) =>
              onChange(
                Object.keys(options).filter((option) =>
                  option === value ? event.target.checked : chosen.includes(option),
                ),
              )
            }
          />
          {text}
        </label>
      ))}
    </div>
  );
}

const Dates = ({ condition, onChange }: ValuesProps) => (
  <div className="columns">
    <TextField
      label="From"
      type="datetime-local"
      value={condition.from}
      onChange={(event) => onChange({ ...condition, from: event.target.value })}
    />
    <TextField
      label="Until"
      type="datetime-local"
      value={condition.until}
      onChange={(event) => onChange({ ...condition, until: event.target.value })}
    />
  </div>
);

const Schedule = ({ condition, onChange }: ValuesProps) => (
  <>
    <Choices
      label="Weekdays"
      options={WEEKDAYS}
      chosen={condition.days.map(String)}
      onChange={(days) => onChange({ ...condition, days: days.map(Number) })}
    />
    <div className="columns">
      <TextField
        label="From"
        placeholder="09:00"
        value={condition.from}
        onChange={(event) => onChange({ ...condition, from: event.target.value })}
      />
      <TextField
        label="To"
        placeholder="17:30"
        hint="Before From, to run over midnight."
        value={condition.until}
        onChange={(event) => onChange({ ...condition, until: event.target.value })}
      />
      <TextField
        label="Time zone"
        value={condition.timeZone}
        onChange={(event) => onChange({ ...condition, timeZone: event.target.value })}
      />
    </div>
  </>
);
