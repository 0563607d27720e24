/** Popovers that open from a button: a menu of actions, and a panel of fields. */
import { Ellipsis } from "lucide-react";
import {
  type ComponentType,
  type KeyboardEvent,
  type ReactNode,
  type ToggleEvent,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";

import { t, type TextKey } from "../languages/translate.ts";
import { type RenderDialog, useDialog } from "./button.tsx";
import { useToastError } from "./toast.tsx";

export type Action = {
  label: TextKey;
  icon: ComponentType<{ "aria-hidden": true }>;
  danger?: true;
} & Effect;

/** If a promise that it returns rejects, the reason is shown. */
type Effect = { onSelect: () => unknown } | { opens: RenderDialog };

export function ActionMenu({ label, actions }: { label: string; actions: readonly Action[] }) {
  // A long list has many menus, so only the open one renders items.
  const { id, button, popover, open, onToggle } = usePopover(placeMenu);
  const { open: openDialog, dialog } = useDialog();
  const toastError = useToastError();
  function run(effect: Effect): void {
    popover.current?.hidePopover();
    if ("opens" in effect) openDialog(effect.opens);
    else void Promise.resolve(effect.onSelect()).catch(toastError);
  }
  return (
    <>
      <button
        ref={button}
        type="button"
        className="button button-quiet icon-button"
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        popoverTarget={id}
      >
        <Ellipsis aria-hidden />
      </button>
      <div
        ref={popover}
        id={id}
        className="menu"
        role="menu"
        aria-label={label}
        popover="auto"
        onKeyDown={moveFocus}
        onToggle={onToggle}
      >
        {(open ? actions : []).map(({ label, icon: Icon, danger, ...effect }) => (
          <button
            key={label}
            type="button"
            role="menuitem"
            className={danger === true ? "menu-item menu-danger" : "menu-item"}
            onClick={() => run(effect)}
          >
            <Icon aria-hidden />
            {t(label)}
          </button>
        ))}
      </div>
      {dialog}
    </>
  );
}

/** Below the button, or above if the window lacks space; focuses the first item. */
function placeMenu(popover: HTMLElement, anchor: DOMRect): void {
  const below = window.innerHeight - anchor.bottom > popover.offsetHeight + 12;
  popover.style.top = `${below ? anchor.bottom + 4 : anchor.top - popover.offsetHeight - 4}px`;
  popover.style.left = `${Math.max(8, anchor.right - popover.offsetWidth)}px`;
  findItems(popover)[0]?.focus();
}

const findItems = (menu: HTMLElement): HTMLElement[] => [
  ...menu.querySelectorAll<HTMLElement>("[role=menuitem]"),
];

/** Moves the focus between the items by arrow keys, Home and End. */
function moveFocus(event: KeyboardEvent<HTMLDivElement>): void {
  const items = findItems(event.currentTarget);
  const current = items.findIndex((item) => item === document.activeElement);
  const targets: Record<string, number> = {
    ArrowDown: current + 1,
    ArrowUp: current - 1,
    Home: 0,
    End: items.length - 1,
  };
  const next = targets[event.key];
  if (next === undefined) return;
  event.preventDefault();
  items[(next + items.length) % items.length]?.focus();
}

type PanelButtonProps = {
  label: string;
  icon: ReactNode;
  /** The fields; they get a function that closes the panel. */
  children: (close: () => void) => ReactNode;
};

/** A panel of fields that opens from a button, on the browser's popover. */
export function PanelButton({ label, icon, children }: PanelButtonProps) {
  const { id, button, popover, open, onToggle } = usePopover(placePanel);
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
        ref={popover}
        id={id}
        className="menu filter-panel"
        role="group"
        aria-label={label}
        popover="auto"
        onToggle={onToggle}
      >
        {open && children(() => popover.current?.hidePopover())}
      </div>
    </>
  );
}

/** Below the button, within the window; focuses the first field. */
function placePanel(popover: HTMLElement, anchor: DOMRect): void {
  const { style, offsetWidth } = popover;
  style.top = `${anchor.bottom + 4}px`;
  style.left = `${Math.max(8, Math.min(anchor.left, window.innerWidth - offsetWidth - 8))}px`;
  popover.querySelector<HTMLElement>("input, select")?.focus();
}

/** The browser's popover of a button; `place` puts it at the button and moves the focus into it. */
function usePopover(place: (popover: HTMLElement, anchor: DOMRect) => void) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const popover = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);
  useLayoutEffect(() => {
    const anchor = button.current?.getBoundingClientRect();
    if (open && anchor !== undefined && popover.current !== null) place(popover.current, anchor);
  }, [open, place]);
  const onToggle = (event: ToggleEvent<HTMLDivElement>) => setOpen(event.newState === "open");
  return { id, button, popover, open, onToggle };
}
