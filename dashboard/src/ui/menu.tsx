/** A menu of actions behind a button, by the browser's own popover. */
import { Ellipsis } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useId, useRef } from "react";

type Action = { label: string; icon?: ReactNode; danger?: boolean; onChoose: () => void };

export function ActionMenu({ label, actions }: { label: string; actions: readonly Action[] }) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const menu = useRef<HTMLDivElement>(null);

  /** Beside its button, within the window. */
  function place(): void {
    const at = button.current?.getBoundingClientRect();
    const list = menu.current;
    if (at === undefined || list === null) return;
    const below = window.innerHeight - at.bottom > list.offsetHeight + 12;
    list.style.top = `${below ? at.bottom + 4 : at.top - list.offsetHeight - 4}px`;
    list.style.left = `${Math.max(8, at.right - list.offsetWidth)}px`;
    items(list)[0]?.focus();
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
        ref={menu}
        id={id}
        className="menu"
        role="menu"
        aria-label={label}
        popover="auto"
        onKeyDown={move}
        onToggle={(event) => {
          if (event.newState === "open") place();
        }}
      >
        {actions.map(({ label, icon, danger, onChoose }) => (
          <button
            key={label}
            type="button"
            role="menuitem"
            className={danger === true ? "menu-item menu-danger" : "menu-item"}
            onClick={() => {
              menu.current?.hidePopover();
              onChoose();
            }}
          >
            {icon}
            {label}
          </button>
        ))}
      </div>
    </>
  );
}

const items = (menu: HTMLElement): HTMLElement[] => [
  ...menu.querySelectorAll<HTMLElement>("[role=menuitem]"),
];

/** Arrow keys, Home and End move between the items. */
function move(event: KeyboardEvent<HTMLDivElement>): void {
  const all = items(event.currentTarget);
  const at = all.findIndex((item) => item === document.activeElement);
  const steps: Record<string, number> = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    Home: 0,
    End: all.length - 1,
  };
  const next = steps[event.key];
  if (next === undefined) return;
  event.preventDefault();
  all[(next + all.length) % all.length]?.focus();
}
