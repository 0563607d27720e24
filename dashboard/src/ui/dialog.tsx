/** Modal dialogs on the browser's `<dialog>`, which traps the focus and closes on Escape. */
import { X } from "lucide-react";
import { type FormEvent, type ReactNode, useId, useLayoutEffect, useRef } from "react";

import { getErrorMessage } from "../data/errors.ts";
import { t } from "../languages/translate.ts";
import { Button, IconButton } from "./button.tsx";
import { openModal } from "./open-dialogs.ts";
import { Alert } from "./states.tsx";

type DialogProps = {
  title: string;
  /** Called when the user wants to close it; the parent then stops rendering it. */
  onClose: () => void;
  children: ReactNode;
  /** Hides the close button and ignores Escape. */
  locked?: boolean;
  wide?: boolean;
};

/** A modal dialog that is open while rendered. Afterwards the previous element gets the focus. */
export function Dialog({ title, onClose, children, locked = false, wide = false }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // Closes it while it is still in the document: a removed dialog does not return the focus.
  useLayoutEffect(() => {
    const dialog = element.current;
    if (dialog === null) return undefined;
    const close = openModal(dialog);
    // By default the browser focuses the close button.
    dialog.querySelector<HTMLElement>("form :is(input, select), [data-focus]")?.focus();
    return close;
  }, []);
  const requestClose = () => {
    if (!locked) onClose();
  };
  return (
    <dialog
      ref={element}
      className={wide ? "dialog dialog-wide" : "dialog"}
      aria-labelledby={titleId}
      onKeyDown={(event) => {
        // A dialog within this one is its child in React, too.
        event.stopPropagation();
        if (event.key !== "Escape" || event.nativeEvent.isComposing) return;
        // A menu within the dialog closes first.
        if (element.current?.querySelector(":popover-open") !== null) return;
        // Of two consecutive cancels the browser would apply the second, regardless of `onCancel`.
        event.preventDefault();
        requestClose();
      }}
      onCancel={(event) => {
        event.stopPropagation();
        event.preventDefault();
        requestClose();
      }}
    >
      <header>
        <h2 id={titleId}>{title}</h2>
        {!locked && (
          <IconButton label={t("ui.close")} onClick={onClose}>
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
      // The form of a dialog within a form is its child in React, too.
      event.stopPropagation();
      onSubmit(event);
    }}
  >
    {children}
    {error !== null && <Alert>{getErrorMessage(error)}</Alert>}
    <footer>
      <Button onClick={onCancel}>{t("ui.cancel")}</Button>
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
  /** Label of the cancel button. */
  cancel?: string;
  children: ReactNode;
  onClose: () => void;
  onConfirm: () => void;
  loading?: boolean;
  error?: unknown;
};

/** Asks for confirmation of an action that cannot be undone. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, action, cancel = t("ui.cancel"), children, onClose, onConfirm } = props;
  const { loading = false, error = null } = props;
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="stack">{children}</div>
      {error !== null && <Alert>{getErrorMessage(error)}</Alert>}
      <footer>
        {/* An accidental Enter must not destroy anything. */}
        <Button data-focus onClick={onClose}>
          {cancel}
        </Button>
        <Button variant="danger" loading={loading} onClick={onConfirm}>
          {action}
        </Button>
      </footer>
    </Dialog>
  );
}
