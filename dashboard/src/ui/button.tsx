/**
 * Buttons: with a text, with an icon, for a dialog, for copying, for a CSV file, for signing out,
 * and for one of a few options.
 */
import { Check, Copy, Download, LogOut } from "lucide-react";
import { type ButtonHTMLAttributes, type MouseEvent, type ReactNode, useState } from "react";
import { createPortal } from "react-dom";

import { downloadCsv } from "../data/http.ts";
import { useSignOut } from "../data/session.ts";
import { t } from "../languages/translate.ts";
import { inSentence } from "./format.ts";
import { toast, useToastError } from "./toast.tsx";

/** Renders a dialog, with a function that closes it. */
export type RenderDialog = (close: () => void) => ReactNode;

/**
 * Opens one dialog at a time. Render `dialog`, anywhere: it is outside of the element that it is
 * rendered in.
 */
export function useDialog(): {
  open: (render: RenderDialog) => void;
  close: () => void;
  dialog: ReactNode;
} {
  const [opened, setOpened] = useState<{ render: RenderDialog }>();
  const close = () => setOpened(undefined);
  return {
    open: (render) => setOpened({ render }),
    close,
    dialog: opened && createPortal(opened.render(close), document.body),
  };
}

type ButtonProps = Omit<ButtonHTMLAttributes<HTMLButtonElement>, "onClick"> & {
  variant?: "primary" | "plain" | "quiet" | "danger";
  /** Until a promise that it returns settles, the button is `loading`; a failure is shown. */
  onClick?: (event: MouseEvent<HTMLButtonElement>) => unknown;
  /** The dialog that a click opens; it closes with the button. */
  opens?: RenderDialog;
  /**
   * Disables the button's action while it runs. The button keeps the focus, which a disabled one
   * would lose.
   */
  loading?: boolean;
};

export function Button(props: ButtonProps) {
  const { variant = "plain", loading = false, className = "", onClick, opens, ...rest } = props;
  const [runs, setRuns] = useState(false);
  const { open, dialog } = useDialog();
  const toastError = useToastError();
  const isBusy = loading || runs;
  function run(result: unknown): void {
    if (!(result instanceof Promise)) return;
    setRuns(true);
    void result.catch(toastError).finally(() => setRuns(false));
  }
  return (
    <>
      <button
        type="button"
        {...rest}
        className={`button button-${variant} ${className}`}
        aria-busy={isBusy}
        {...(isBusy ? { "aria-disabled": true } : {})}
        onClick={(event) => {
          // Also prevents Enter in a field from submitting the form again.
          if (isBusy) event.preventDefault();
          else if (opens === undefined) run(onClick?.(event));
          else open(opens);
        }}
      />
      {dialog}
    </>
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
      onClick={copy}
    >
      {copied ? <Check aria-hidden /> : <Copy aria-hidden />}
      {children}
    </Button>
  );
}

/** Saves what a path has; `name` is its title. */
export function CsvButton({ path, name }: { path: string; name: string }) {
  const content = inSentence(name);
  return (
    <IconButton
      label={t("analytics.downloadCsv", { name: content })}
      onClick={() => downloadCsv(path, `${content}.csv`)}
    >
      <Download aria-hidden />
    </IconButton>
  );
}

/** Ends the session of this browser. */
export function SignOutButton() {
  const signOut = useSignOut();
  return (
    <Button variant="quiet" onClick={() => signOut()}>
      <LogOut aria-hidden /> {t("shell.signOut")}
    </Button>
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
