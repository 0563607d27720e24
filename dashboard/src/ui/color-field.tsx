/** A field for a colour as text, beside the browser's own picker. */
import { hexColor } from "../../../shared/contracts/colors.ts";
import { TextField } from "./field.tsx";

export const isColor = (text: string): boolean => hexColor.safeParse(text).success;

type ColorFieldProps = {
  label: string;
  /** Label of the picker. */
  pickerLabel: string;
  hint?: string;
  placeholder?: string;
  /** As it was typed: not always a colour. */
  value: string;
  /** What the picker shows while the text is no colour. */
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
