/** Modal dialogs: the browser's own, which keeps the focus inside and closes on Escape. */
import { X } from "lucide-react";
import { type FormEvent, type ReactNode, useEffect, useId, useRef } from "react";

import { messageOf } from "../data/errors.ts";
import { Button, IconButton } from "./button.tsx";
import { Problem } from "./states.tsx";

type DialogProps = {
  title: string;
  onClose: () => void;
  children: ReactNode;
  /** Keeps Escape and the cross from closing it. */
  locked?: boolean;
  wide?: boolean;
};

/** Open for as long as it is rendered. */
export function Dialog({ title, onClose, children, locked = false, wide = false }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    // The browser would begin with the cross.
    dialog?.querySelector<HTMLElement>("form :is(input, select)")?.focus();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      className={wide ? "dialog dialog-wide" : "dialog"}
      aria-labelledby={titleId}
      onCancel={(event) => {
        // Closing is for whoever renders it to do.
        event.preventDefault();
        if (!locked) onClose();
      }}
    >
      <header>
        <h2 id={titleId}>{title}</h2>
        {!locked && (
          <IconButton label="Close" onClick={onClose}>
            <X aria-hidden />
          </IconButton>
        )}
      </header>
      {children}
    </dialog>
  );
}

type FormProps = {
  /** What the button that sends it says. */
  action: string;
  onSubmit: (event: FormEvent) => void;
  onCancel: () => void;
  busy: boolean;
  error: unknown;
  children: ReactNode;
};

/** A form that fills a dialog. */
export const DialogForm = ({ action, onSubmit, onCancel, busy, error, children }: FormProps) => (
  <form
    className="stack"
    noValidate
    onSubmit={(event) => {
      event.preventDefault();
      onSubmit(event);
    }}
  >
    {children}
    {error !== null && <Problem>{messageOf(error)}</Problem>}
    <footer>
      <Button onClick={onCancel}>Cancel</Button>
      <Button type="submit" look="primary" busy={busy}>
        {action}
      </Button>
    </footer>
  </form>
);

type ConfirmProps = {
  title: string;
  action: string;
  children: ReactNode;
  onClose: () => void;
  onConfirm: () => void;
  busy: boolean;
  error: unknown;
};

/** Asks before something that cannot be undone. */
export function ConfirmDialog(props: ConfirmProps) {
  const { title, action, children, onClose, onConfirm, busy, error } = props;
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="stack">{children}</div>
      {error !== null && <Problem>{messageOf(error)}</Problem>}
      <footer>
        <Button onClick={onClose}>Cancel</Button>
        <Button look="danger" busy={busy} onClick={onConfirm}>
          {action}
        </Button>
      </footer>
    </Dialog>
  );
}
