/** Buttons. */
import { Check, Copy } from "lucide-react";
import { type ButtonHTMLAttributes, type ReactNode, useState } from "react";

import { t } from "../languages/translate.ts";
import { toast } from "./toast.tsx";

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
