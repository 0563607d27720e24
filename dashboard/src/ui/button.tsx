/** Buttons, and a link that looks like one. */
import { Check, Copy } from "lucide-react";
import { type ButtonHTMLAttributes, type ReactNode, useState } from "react";

import { toast } from "./toast.tsx";

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & {
  look?: "primary" | "plain" | "quiet" | "danger";
  /** It is at work, and cannot be pressed again. */
  busy?: boolean;
};

export function Button({ look = "plain", busy = false, className = "", ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={`button button-${look} ${className}`}
      aria-busy={busy}
      disabled={rest.disabled === true || busy}
    />
  );
}

/** A button that shows an icon alone, and says what it does. */
export function IconButton({ label, ...rest }: ButtonProps & { label: string }) {
  return <Button look="quiet" {...rest} className="icon-button" aria-label={label} title={label} />;
}

const COPIED_MS = 1_500;

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
      toast("The browser does not allow copying.", "failed");
      return;
    }
    setCopied(true);
    toast("Copied.");
    setTimeout(() => setCopied(false), COPIED_MS);
  }
  return (
    <Button
      look={children === undefined ? "quiet" : "plain"}
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
