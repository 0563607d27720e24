/** A panel of fields that opens from a button, on the browser's popover. */
import { type ReactNode, useId, useLayoutEffect, useRef, useState } from "react";

type PanelButtonProps = {
  label: string;
  icon: ReactNode;
  /** The fields; they get a function that closes the panel. */
  children: (close: () => void) => ReactNode;
};

export function PanelButton({ label, icon, children }: PanelButtonProps) {
  const id = useId();
  const panel = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const [open, setOpen] = useState(false);
  useLayoutEffect(() => {
    const anchor = button.current?.getBoundingClientRect();
    if (!open || anchor === undefined || panel.current === null) return;
    const { style, offsetWidth } = panel.current;
    style.top = `${anchor.bottom + 4}px`;
    style.left = `${Math.max(8, Math.min(anchor.left, window.innerWidth - offsetWidth - 8))}px`;
    panel.current.querySelector<HTMLElement>("input, select")?.focus();
  }, [open]);
  return (
    <>
      <button
        ref={button}
        type="button"
        className="button button-plain"
        aria-expanded={open}
        popoverTarget={id}
      >
        {icon} {label}
      </button>
      <div
        ref={panel}
        id={id}
        className="menu filter-panel"
        role="group"
        aria-label={label}
        popover="auto"
        onToggle={(event) => setOpen(event.newState === "open")}
      >
        {open && children(() => panel.current?.hidePopover())}
      </div>
    </>
  );
}
