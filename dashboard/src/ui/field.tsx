/**
 * Forms, and their controls with a label, a hint and an error, linked by ARIA attributes. What a
 * field must be is a rule of the form (`form.ts`), never an attribute: the browser checks nothing.
 */
import { Eye, EyeOff } from "lucide-react";
import {
  type ClipboardEvent,
  type ComponentProps,
  createContext,
  type FormEvent,
  type ReactNode,
  useContext,
  useEffect,
  useId,
  useRef,
  useState,
} from "react";

import { HEX_COLOR } from "../../../shared/contracts/colors.ts";
import { useTags } from "../data/account-lists.ts";
import { completeList, type ListOption, readList } from "../data/complete-list.ts";
import { t } from "../languages/translate.ts";
import { Button, IconButton } from "./button.tsx";
import { ErrorAlert, type Task } from "./states.tsx";

export type FormProps = {
  action: string;
  onSubmit: (event: FormEvent<HTMLFormElement>) => unknown;
  task: Task;
  /** Whether there is unsaved input; by default, once something was entered. */
  isDirty?: boolean;
  className?: string;
  children: ReactNode;
};

/** The dialog of a form: it asks before unsaved input is lost, and closes the form. */
type Host = { setDirty: (isDirty: boolean) => void; onCancel: () => void };

export const FormHost = createContext<Host | undefined>(undefined);

/** Fields with a submit button, in a dialog with one to cancel, and the error of the action. */
export function Form(props: FormProps) {
  const { action, onSubmit, task, isDirty, className = "stack", children } = props;
  const host = useContext(FormHost);
  useEffect(() => {
    if (isDirty !== undefined) host?.setDirty(isDirty);
  });
  const onChange = () => {
    if (isDirty === undefined) host?.setDirty(true);
  };
  return (
    <form
      className={className}
      noValidate
      onChange={onChange}
      onSubmit={(event) => {
        event.preventDefault();
        // The form of a dialog within a form is its child in React, too.
        event.stopPropagation();
        void onSubmit(event);
      }}
    >
      {children}
      <ErrorAlert error={task.error} />
      <footer>
        {host !== undefined && <Button onClick={host.onCancel}>{t("ui.cancel")}</Button>}
        <Button type="submit" variant="primary" loading={task.isPending}>
          {action}
        </Button>
      </footer>
    </form>
  );
}

type FieldProps = {
  label: ReactNode;
  hint?: ReactNode;
  error?: string | undefined;
};

type ControlProps = { id: string; "aria-describedby"?: string; "aria-invalid"?: true };

type LayoutProps = {
  /** Of a checkbox, whose label is beside it. */
  isCheck?: boolean;
  children: (control: ControlProps) => ReactNode;
};

function Field({ label, hint, error, isCheck = false, children }: FieldProps & LayoutProps) {
  const id = useId();
  const describedBy = [
    ...(hint === undefined ? [] : [`${id}-hint`]),
    ...(error === undefined ? [] : [`${id}-error`]),
  ];
  const control = children({
    id,
    ...(describedBy.length === 0 ? {} : { "aria-describedby": describedBy.join(" ") }),
    ...(error === undefined ? {} : { "aria-invalid": true }),
  });
  return (
    <div className={isCheck ? undefined : "field"}>
      <label className={isCheck ? "check" : undefined} htmlFor={id}>
        {isCheck && control}
        {label}
      </label>
      {!isCheck && control}
      {hint !== undefined && (
        <small id={`${id}-hint`} className={isCheck ? "hint check-hint" : "hint"}>
          {hint}
        </small>
      )}
      <FieldError id={`${id}-error`}>{error}</FieldError>
    </div>
  );
}

/** What is wrong with a field, or with several; nothing without a text. */
export const FieldError = ({ id, children }: { id?: string; children: string | undefined }) =>
  children !== undefined && (
    <small id={id} className="field-error" role="alert">
      {children}
    </small>
  );

type TextFieldProps = FieldProps & Omit<ComponentProps<"input">, "required">;

export const TextField = ({ label, hint, error, ...input }: TextFieldProps) => (
  <Field label={label} hint={hint} error={error}>
    {(control) => <input type="text" {...input} {...control} />}
  </Field>
);

/** A field for a password, which its button shows. */
export function PasswordField({ label, hint, error, ...input }: TextFieldProps) {
  const [shown, setShown] = useState(false);
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <span className="password-input">
          <input {...input} {...control} type={shown ? "text" : "password"} spellCheck={false} />
          {/* Its name does not repeat the label, which is that of the field. */}
          <IconButton
            label={t("ui.showTyped")}
            aria-pressed={shown}
            disabled={input.disabled}
            onClick={() => setShown(!shown)}
          >
            {shown ? <EyeOff aria-hidden /> : <Eye aria-hidden />}
          </IconButton>
        </span>
      )}
    </Field>
  );
}

type TextAreaFieldProps = FieldProps & Omit<ComponentProps<"textarea">, "required">;

export const TextAreaField = ({ label, hint, error, ...textarea }: TextAreaFieldProps) => (
  <Field label={label} hint={hint} error={error}>
    {(control) => <textarea {...textarea} {...control} />}
  </Field>
);

type Option<Value> = { value: Value; label: string };

const renderOptions = (options: readonly Option<string>[]) =>
  options.map(({ value, label }) => (
    <option key={value} value={value}>
      {label}
    </option>
  ));

type SelectFieldProps = FieldProps &
  ComponentProps<"select"> & { options: readonly Option<string>[] };

export const SelectField = ({ label, hint, error, options, ...select }: SelectFieldProps) => (
  <Field label={label} hint={hint} error={error}>
    {(control) => (
      <select {...select} {...control}>
        {renderOptions(options)}
      </select>
    )}
  </Field>
);

type Choice = string | number | boolean | null | undefined;

type SelectProps<Value> = Omit<ComponentProps<"select">, "value" | "onChange"> & {
  /** Nothing, and "", are the same in a select. */
  value: Value;
  options: readonly Option<Value>[];
  onChoose: (value: Value) => void;
};

/** A select whose options have values of any type; one is always chosen. */
export const Select = <Value extends Choice>({
  value,
  options,
  onChoose,
  ...select
}: SelectProps<Value>) => (
  <select
    {...select}
    value={String(value ?? "")}
    onChange={({ target: { selectedIndex } }) => {
      const chosen = options[selectedIndex];
      if (chosen !== undefined) onChoose(chosen.value);
    }}
  >
    {renderOptions(options.map((option) => ({ ...option, value: String(option.value ?? "") })))}
  </select>
);

/** A {@link Select} with a label. */
export const ChoiceField = <Value extends Choice>({
  label,
  hint,
  error,
  ...select
}: FieldProps & SelectProps<Value>) => (
  <Field label={label} hint={hint} error={error}>
    {(control) => <Select {...select} {...control} />}
  </Field>
);

export const CheckField = ({
  label,
  hint,
  error,
  ...input
}: FieldProps & ComponentProps<"input">) => (
  <Field label={label} hint={hint} error={error} isCheck>
    {(control) => <input type="checkbox" {...input} {...control} />}
  </Field>
);

type CheckGroupProps = FieldProps &
  ComponentProps<"input"> & { options: readonly { value: string; label: ReactNode }[] };

/** Checkboxes of one field; the other properties are those of each. */
export const CheckGroup = ({ label, options, error, ...input }: CheckGroupProps) => (
  <fieldset>
    <legend>{label}</legend>
    <div className="columns">
      {options.map((option) => (
        <CheckField
          key={option.value}
          {...option}
          {...input}
          {...(error === undefined ? {} : { "aria-invalid": true })}
        />
      ))}
    </div>
    <FieldError>{error}</FieldError>
  </fieldset>
);

type ListFieldProps = TextFieldProps & {
  /** Its text, of which the last value is completed by one of the options. */
  text?: string;
  options?: readonly ListOption[];
};

/** A text field for several values (`complete-list.ts`). */
export function ListField({ text = "", options = [], ...field }: ListFieldProps) {
  const listId = useId();
  return (
    <>
      <TextField
        {...field}
        list={listId}
        autoComplete="off"
        spellCheck={false}
        onPaste={pasteLines}
      />
      <datalist id={listId}>
        {completeList(text, options).map(({ value, label }) => (
          <option key={value} value={value} label={label} />
        ))}
      </datalist>
    </>
  );
}

/** Pastes several lines as values: the browser would join them to one. */
function pasteLines(event: ClipboardEvent<HTMLInputElement>): void {
  const { currentTarget: input, clipboardData } = event;
  const text = clipboardData.getData("text/plain").trim();
  if (!/[\r\n]/.test(text)) return;
  event.preventDefault();
  const { selectionStart, selectionEnd, value } = input;
  const [start, end] = [selectionStart ?? value.length, selectionEnd ?? value.length];
  input.setRangeText(readList(text).join(", "), start, end, "end");
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

export const TagsField = (field: Omit<ListFieldProps, "options" | "hint">) => (
  <ListField
    {...field}
    hint={t("links.form.tagsHint")}
    options={useTags().map(({ name }) => ({ name }))}
  />
);

/** Collapsed optional fields. Opens when one of them gets an error. */
export function Disclosure({ title, children }: { title: string; children: ReactNode }) {
  const element = useRef<HTMLDetailsElement>(null);
  const hadError = useRef(false);
  useEffect(() => {
    const invalid = element.current?.querySelector<HTMLElement>("[aria-invalid]") ?? undefined;
    // Only opens automatically; the user closes it.
    if (invalid !== undefined && !hadError.current && element.current?.open === false) {
      element.current.open = true;
      // While it was closed, the field could not get the focus.
      if (document.querySelector("[aria-invalid]:focus") === null) invalid.focus();
    }
    hadError.current = invalid !== undefined;
  });
  return (
    <details ref={element}>
      <summary>{title}</summary>
      <div className="stack">{children}</div>
    </details>
  );
}

export const isColor = (text: string): boolean => HEX_COLOR.test(text);

type ColorFieldProps = {
  label: string;
  pickerLabel: string;
  hint?: string;
  placeholder?: string;
  /** As it was typed: not always a colour. */
  value: string;
  /** The colour of the picker while the text is none. */
  fallback: string;
  error?: string | undefined;
  onChange: (color: string) => void;
};

export const ColorField = ({
  label,
  pickerLabel,
  value,
  fallback,
  onChange,
  ...field
}: ColorFieldProps) => (
  <div className="color-field">
    <TextField
      {...field}
      label={label}
      value={value}
      onChange={({ target }) => onChange(target.value)}
    />
    <input
      type="color"
      aria-label={pickerLabel}
      value={isColor(value) ? value : fallback}
      onChange={({ target }) => onChange(target.value)}
    />
  </div>
);
