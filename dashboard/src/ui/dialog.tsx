/** Modal dialogs on the browser's `<dialog>`, which traps the focus and closes on Escape. */
import { X } from "lucide-react";
import { type FormEvent, type ReactNode, useEffect, useId, useRef } from "react";

import { getErrorMessage } from "../data/errors.ts";
import { Button, IconButton } from "./button.tsx";
import { Alert } from "./states.tsx";

type DialogProps = {
  title: string;
  onClose: () => void;
  children: ReactNode;
  /** Hides the close button and ignores Escape. */
  locked?: boolean;
  wide?: boolean;
};

/** A modal dialog that is open while it is rendered. */
export function Dialog({ title, onClose, children, locked = false, wide = false }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    // By default the browser focuses the close button.
    dialog?.querySelector<HTMLElement>("form :is(input, select)")?.focus();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      className={wide ? "dialog dialog-wide" : "dialog"}
      aria-labelledby={titleId}
      onCancel={(event) => {
        // The parent closes the dialog by not rendering it.
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

type DialogFormProps = {
  /** Label of the submit button. */
  action: string;
  onSubmit: (event: FormEvent) => void;
  onCancel: () => void;
  loading: boolean;
  error: unknown;
  children: ReactNode;
};

/** A form as the content of a dialog, with a cancel and a submit button. */
export const DialogForm = ({
  action,
  onSubmit,
  onCancel,
  loading,
  error,
  children,
}: DialogFormProps) => (
  <form
    className="stack"
    noValidate
    onSubmit={(event) => {
      event.preventDefault();
      onSubmit(event);
    }}
  >
    {children}
    {error !== null && <Alert>{getErrorMessage(error)}</Alert>}
    <footer>
      <Button onClick={onCancel}>Cancel</Button>
      <Button type="submit" variant="primary" loading={loading}>
        {action}
      </Button>
    </footer>
  </form>
);

type ConfirmDialogProps = {
  title: string;
  /** Label of the confirm button. */
  action: string;
  children: ReactNode;
  onClose: () => void;
  onConfirm: () => void;
  loading: boolean;
  error: unknown;
};

/** Asks for confirmation of an action that cannot be undone. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, action, children, onClose, onConfirm, loading, error } = props;
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="stack">{children}</div>
      {error !== null && <Alert>{getErrorMessage(error)}</Alert>}
      <footer>
        <Button onClick={onClose}>Cancel</Button>
        <Button variant="danger" loading={loading} onClick={onConfirm}>
          {action}
        </Button>
      </footer>
    </Dialog>
  );
}
