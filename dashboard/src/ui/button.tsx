/**
 * Buttons: with a text, with an icon, for copying, for a CSV file, and for one of a few options.
 */
import { Check, Copy, Download } from "lucide-react";
import { type ButtonHTMLAttributes, type ReactNode, useState } from "react";

import { downloadCsv } from "../data/http.ts";
import { t } from "../languages/translate.ts";
import { toast, toastError } from "./toast.tsx";

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & {
  variant?: "primary" | "plain" | "quiet" | "danger";
  /**
   * Disables the button's action while it runs. The button keeps the focus, which a disabled one
   * would lose.
   */
  loading?: boolean;
};

export function Button(props: ButtonProps) {
  const { variant = "plain", loading = false, className = "", onClick, ...rest } = props;
  return (
    <button
      type="button"
      {...rest}
      className={`button button-${variant} ${className}`}
      aria-busy={loading}
      {...(loading ? { "aria-disabled": true } : {})}
      onClick={(event) => {
        // Also prevents Enter in a field from submitting the form again.
        if (loading) event.preventDefault();
        else onClick?.(event);
      }}
    />
  );
}

/** A button that shows only an icon; `label` is its accessible name and tooltip. */
export function IconButton({ label, ...rest }: ButtonProps & { label: string }) {
  return (
    <Button variant="quiet" {...rest} className="icon-button" aria-label={label} title={label} />
  );
}

const COPIED_ICON_MS = 1_500;

export function CopyButton({
  text,
  label,
  children,
}: {
  text: string;
  label: string;
  children?: ReactNode;
}) {
  const [copied, setCopied] = useState(false);
  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      toast(t("ui.copyBlocked"), "error");
      return;
    }
    setCopied(true);
    toast(t("ui.copied"));
    setTimeout(() => setCopied(false), COPIED_ICON_MS);
  }
  return (
    <Button
      variant={children === undefined ? "quiet" : "plain"}
      className={children === undefined ? "icon-button" : ""}
      aria-label={label}
      title={label}
      onClick={() => void copy()}
    >
      {copied ? <Check aria-hidden /> : <Copy aria-hidden />}
      {children}
    </Button>
  );
}

/** Downloads the data of a card as CSV. */
type CsvButtonProps = {
  path: string;
  /** Its content, as the button names it. */
  name: string;
  /** The file's name, without its ending. */
  file: string;
};

export function CsvButton({ path, name, file }: CsvButtonProps) {
  return (
    <IconButton
      label={t("analytics.downloadCsv", { name })}
      onClick={() => void downloadCsv(path, `${file}.csv`).catch(toastError)}
    >
      <Download aria-hidden />
    </IconButton>
  );
}

type SegmentedControlProps<Name extends string> = {
  label: string;
  isSmall?: boolean;
  /** Labels of the options, by name. */
  options: Readonly<Partial<Record<Name, string>>>;
  selected: Name | undefined;
  onSelect: (name: Name) => void;
};

/** Selects one of a few options. */
export function SegmentedControl<Name extends string>({
  label,
  isSmall = true,
  options,
  selected,
  onSelect,
}: SegmentedControlProps<Name>) {
  return (
    <div
      className={isSmall ? "segmented segmented-small" : "segmented"}
      role="group"
      aria-label={label}
    >
      {(Object.keys(options) as Name[]).map((name) => (
        <button
          key={name}
          type="button"
          aria-pressed={name === selected}
          onClick={() => onSelect(name)}
        >
          {options[name]}
        </button>
      ))}
    </div>
  );
}
