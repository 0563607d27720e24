/** A labelled control with a hint and what is wrong with it, tied together for screen readers. */
import { type ComponentProps, type ReactNode, useId } from "react";

type Labelled = {
  label: string;
  hint?: ReactNode;
  problem?: string | undefined;
};

type Described = { id: string; "aria-describedby"?: string; "aria-invalid"?: true };

function Field({
  label,
  hint,
  problem,
  children,
}: Labelled & { children: (control: Described) => ReactNode }) {
  const id = useId();
  const notes = [
    ...(hint === undefined ? [] : [`${id}-hint`]),
    ...(problem === undefined ? [] : [`${id}-problem`]),
  ];
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        ...(notes.length === 0 ? {} : { "aria-describedby": notes.join(" ") }),
        ...(problem === undefined ? {} : { "aria-invalid": true }),
      })}
      {hint !== undefined && (
        <small id={`${id}-hint`} className="hint">
          {hint}
        </small>
      )}
      {problem !== undefined && (
        <small id={`${id}-problem`} className="field-problem" role="alert">
          {problem}
        </small>
      )}
    </div>
  );
}

export function TextField({ label, hint, problem, ...input }: Labelled & ComponentProps<"input">) {
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(control) => <input type="text" {...input} {...control} />}
    </Field>
  );
}

type Choice = { value: string; label: string };

export function SelectField({
  label,
  hint,
  problem,
  choices,
  ...select
}: Labelled & ComponentProps<"select"> & { choices: readonly Choice[] }) {
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(control) => (
        <select {...select} {...control}>
          {choices.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function CheckField({
  label,
  hint,
  ...input
}: { label: ReactNode; hint?: ReactNode } & ComponentProps<"input">) {
  const id = useId();
  return (
    <div>
      <label className="check">
        <input
          type="checkbox"
          {...input}
          {...(hint === undefined ? {} : { "aria-describedby": id })}
        />
        {label}
      </label>
      {hint !== undefined && (
        <small id={id} className="hint check-hint">
          {hint}
        </small>
      )}
    </div>
  );
}
