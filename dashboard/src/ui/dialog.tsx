/**
 * Modal dialogs on the browser's `<dialog>`, which traps the focus and closes on Escape: forms,
 * confirmations, secrets that are shown once, and the question before unsaved input is discarded.
 */
import { X } from "lucide-react";
import {
  type ReactNode,
  useEffect,
  useEffectEvent,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { flushSync } from "react-dom";

import type { Client } from "../../../clients/typescript/src/index.ts";
import { useClient } from "../data/session.ts";
import { t } from "../languages/translate.ts";
import { Button, CopyButton, IconButton } from "./button.tsx";
import { Form, FormHost, type FormProps } from "./field.tsx";
import { type Effects, ErrorAlert, Loading, type Task, useApiMutation } from "./states.tsx";
import { reopenModal, showModal } from "./toast.tsx";

type DialogProps = {
  title: string;
  /** Called when the user wants to close it; the parent then stops rendering it. */
  onClose: () => void;
  children: ReactNode;
  /** Cannot be closed by the user, who loses nothing in it. */
  locked?: boolean;
  wide?: boolean;
  /** Hides the page behind it. */
  covers?: boolean;
};

/**
 * A modal dialog that is open while rendered; asks before it discards what was entered in its form.
 * Afterwards the previous element gets the focus.
 */
export function Dialog(props: DialogProps) {
  const { title, onClose, children, locked = false, wide = false, covers = false } = props;
  const element = useRef<HTMLDialogElement>(null);
  const isDirty = useRef(false);
  const { guard, confirmation } = useUnsavedGuard(() => isDirty.current);
  const titleId = useId();
  // Closes it while it is still in the document: a removed dialog does not return the focus.
  useLayoutEffect(() => {
    const dialog = element.current;
    if (dialog === null) return undefined;
    const close = showModal(dialog);
    // By default the browser focuses the close button.
    dialog.querySelector<HTMLElement>("form :is(input, select), [data-focus]")?.focus();
    return close;
  }, []);
  const requestClose = () => {
    if (!locked) guard(onClose);
  };
  const setDirty = (next: boolean) => {
    isDirty.current = next;
  };
  return (
    <dialog
      ref={element}
      className={`dialog ${wide ? "dialog-wide" : ""} ${covers ? "dialog-covers" : ""}`}
      aria-labelledby={titleId}
      closedby={locked ? "none" : undefined}
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
      onClose={(event) => {
        // The browser closes it the second time that Android's "back" is pressed, regardless of
        // `onCancel`.
        const dialog = element.current;
        if (event.target !== dialog || dialog.open) return;
        if (locked || isDirty.current) reopenModal(dialog);
        else onClose();
      }}
    >
      <header>
        <h2 id={titleId}>{title}</h2>
        {!locked && (
          <IconButton label={t("ui.close")} onClick={requestClose}>
            <X aria-hidden />
          </IconButton>
        )}
      </header>
      <FormHost value={locked ? undefined : { setDirty, onCancel: requestClose }}>
        {children}
      </FormHost>
      {confirmation}
    </dialog>
  );
}

/** Shown until the script of a dialog is loaded. */
export const LoadingDialog = ({ onClose }: { onClose: () => void }) => (
  <Dialog title={t("commands.loading")} onClose={onClose}>
    <Loading label={t("commands.loadingForm")} />
  </Dialog>
);

type FormDialogProps = FormProps & {
  title: string;
  onClose: () => void;
  wide?: boolean;
};

/** A dialog whose content is a form. */
export const FormDialog = ({ title, onClose, wide = false, ...form }: FormDialogProps) => (
  <Dialog title={title} onClose={onClose} wide={wide}>
    <Form {...form} />
  </Dialog>
);

type ConfirmDialogProps = {
  title: string;
  action: string;
  cancel?: string;
  children: ReactNode;
  onClose: () => void;
  task: Task & { mutate: () => void };
};

/** Asks for confirmation of an action that cannot be undone. */
export const ConfirmDialog = ({
  title,
  action,
  cancel = t("ui.cancel"),
  children,
  onClose,
  task,
}: ConfirmDialogProps) => (
  <Dialog title={title} onClose={onClose}>
    <div className="stack">{children}</div>
    <ErrorAlert error={task.error} />
    <footer>
      {/* An accidental Enter must not destroy anything. */}
      <Button data-focus onClick={onClose}>
        {cancel}
      </Button>
      <Button variant="danger" loading={task.isPending} onClick={() => task.mutate()}>
        {action}
      </Button>
    </footer>
  </Dialog>
);

type ActionDialogProps<Result> = Omit<ConfirmDialogProps, "task"> &
  Omit<Effects<Result>, "onSuccess"> & { run: (client: Client) => Promise<Result> };

/** Asks for confirmation of an action, does it, and closes. */
export function ActionDialog<Result>({ run, ...dialog }: ActionDialogProps<Result>) {
  const client = useClient();
  const task = useApiMutation(() => run(client), { ...dialog, onSuccess: dialog.onClose });
  return <ConfirmDialog {...dialog} task={task} />;
}

type SecretProps = { text: string; copyLabel: string; testId: string };

type SecretDialogProps = SecretProps & {
  title: string;
  warning: string;
  /** Label of the button that closes the dialog. */
  done: string;
  onClose: () => void;
  children?: ReactNode;
};

/** Shows what is displayed only once, such as a new key; it cannot be closed by accident. */
export const SecretDialog = ({
  title,
  warning,
  done,
  onClose,
  children,
  ...secret
}: SecretDialogProps) => (
  <Dialog title={title} onClose={onClose} locked>
    <p className="warning">{warning}</p>
    <Secret {...secret} />
    {children}
    <footer>
      <Button variant="primary" onClick={onClose}>
        {done}
      </Button>
    </footer>
  </Dialog>
);

/** A text to copy. */
export const Secret = ({ text, copyLabel, testId }: SecretProps) => (
  <div className="secret">
    <code data-testid={testId}>{text}</code>
    <CopyButton text={text} label={copyLabel}>
      {t("ui.copy")}
    </CopyButton>
  </div>
);

/**
 * Guards input. `isDirty` returns whether there is unsaved input. Call `guard` with an action that
 * would discard it, such as closing a form. The action runs immediately if nothing is dirty, and
 * otherwise after the user confirms. Render `confirmation`, which asks.
 */
export function useUnsavedGuard(isDirty: () => boolean): {
  guard: (discard: () => void) => void;
  confirmation: ReactNode;
} {
  /** The user's action that waits for confirmation. */
  const [pending, setPending] = useState<{ discard: () => void }>();
  const agreed = useRef(false);
  const stopUnload = useEffectEvent((event: BeforeUnloadEvent): void => {
    if (isDirty() && !agreed.current) event.preventDefault();
  });
  const stopNavigation = useEffectEvent((event: NavigateEvent): void => {
    const redo = findRedo(event);
    if (redo === undefined || !isDirty() || agreed.current) return;
    event.preventDefault();
    setPending({ discard: redo });
  });
  useEffect(() => {
    const onUnload = (event: BeforeUnloadEvent) => stopUnload(event);
    const onNavigate = (event: NavigateEvent) => stopNavigation(event);
    window.addEventListener("beforeunload", onUnload);
    // Browsers without it still ask before the user leaves the site.
    const navigation = "navigation" in window ? window.navigation : undefined;
    navigation?.addEventListener("navigate", onNavigate);
    return () => {
      window.removeEventListener("beforeunload", onUnload);
      navigation?.removeEventListener("navigate", onNavigate);
    };
  }, []);
  function discard(): void {
    if (pending === undefined) return;
    agreed.current = true;
    // Closes the confirmation first: a dialog cannot return the focus while another one is open
    // inside it.
    flushSync(() => setPending(undefined));
    // After the next frame: closing both for one frame takes a phone a third of a second.
    requestAnimationFrame(() => setTimeout(pending.discard));
  }
  return {
    guard: (discard) => (isDirty() ? setPending({ discard }) : discard()),
    confirmation: pending !== undefined && (
      <ConfirmDialog
        title={t("ui.unsaved.title")}
        action={t("ui.unsaved.discard")}
        cancel={t("ui.unsaved.keep")}
        onClose={() => setPending(undefined)}
        task={{ mutate: discard, isPending: false, error: null }}
      >
        <p>{t("ui.unsaved.text")}</p>
      </ConfirmDialog>
    ),
  };
}

/**
 * Returns a function that repeats a navigation to another page of the dashboard; undefined for one
 * that need not or cannot be stopped.
 */
function findRedo(event: NavigateEvent): (() => void) | undefined {
  const { destination, navigationType, cancelable } = event;
  const isOtherPage = new URL(destination.url).pathname !== location.pathname;
  if (!isOtherPage || !destination.sameDocument || !cancelable) return undefined;
  // Through the history, which the router observes.
  return navigationType === "traverse"
    ? () => void window.navigation.traverseTo(destination.key)
    : () => history.pushState(null, "", destination.url);
}
