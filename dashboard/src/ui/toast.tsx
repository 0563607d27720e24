/**
 * Transient messages, also announced by screen readers. The last open dialog shows them: the
 * browser makes the rest of the page inert.
 */
import { useQueryClient } from "@tanstack/react-query";
import { CircleAlert, CircleCheck } from "lucide-react";
import { useSyncExternalStore } from "react";
import { createPortal } from "react-dom";

import { checkSession } from "../data/session.ts";
import { getErrorMessage } from "../languages/errors.ts";

/**
 * The open modal dialogs. The browser displays them above everything else and makes the rest of the
 * page inert, so what must stay usable is rendered in the last one.
 */
let open: readonly HTMLDialogElement[] = [];
const dialogListeners = new Set<() => void>();

function updateOpen(next: readonly HTMLDialogElement[]): void {
  open = next;
  for (const notify of dialogListeners) notify();
}

/** Opens a dialog; returns a function that closes it. */
export function showModal(dialog: HTMLDialogElement): () => void {
  dialog.showModal();
  updateOpen([...open, dialog]);
  return () => {
    updateOpen(open.filter((other) => other !== dialog));
    dialog.close();
  };
}

/** Opens a dialog again that the browser has closed, below those that were opened after it. */
export function reopenModal(dialog: HTMLDialogElement): void {
  for (const above of open.slice(open.indexOf(dialog))) {
    above.close();
    above.showModal();
  }
}

const lastOpenDialog = (): HTMLDialogElement | undefined => open.at(-1);

/** Calls a function whenever a dialog opens or closes; returns a function that ends that. */
function onOpenDialogsChange(listener: () => void): () => void {
  dialogListeners.add(listener);
  return () => dialogListeners.delete(listener);
}

/** An action offered by a message, such as undoing the reported change. */
type ToastAction = { label: string; onSelect: () => void };

type Toast = { id: number; text: string; kind: "success" | "error"; action?: ToastAction };

const TOAST_DURATION_MS = 5_000;

/** Users need time to read and reach an action. */
const ACTION_DURATION_MS = 15_000;

let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function update(next: readonly Toast[]): void {
  toasts = next;
  for (const notify of listeners) notify();
}

const remove = (id: number): void => update(toasts.filter((shown) => shown.id !== id));

/** Shows a message for 5 seconds; with an action for 15. */
export function toast(text: string, kind: Toast["kind"] = "success", action?: ToastAction): void {
  const id = ++lastId;
  update([...toasts, { id, text, kind, ...(action === undefined ? {} : { action }) }]);
  setTimeout(() => remove(id), action === undefined ? TOAST_DURATION_MS : ACTION_DURATION_MS);
}

/** Returns a function that says why an action failed; if the session has ended, it is asked for. */
export function useToastError(): (error: unknown) => void {
  const client = useQueryClient();
  return (error) => {
    checkSession(client, error);
    toast(getErrorMessage(error), "error");
  };
}

export function ToastRegion() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  const dialog = useSyncExternalStore(onOpenDialogsChange, lastOpenDialog);
  return createPortal(
    // The focus stays here when the focused action disappears.
    <div className="toasts" role="status" aria-live="polite" tabIndex={-1}>
      {shown.map(({ id, text, kind, action }) => (
        <div key={id} className={`toast toast-${kind}`}>
          {kind === "success" ? <CircleCheck aria-hidden /> : <CircleAlert aria-hidden />}
          {text}
          {action !== undefined && (
            <button
              type="button"
              className="toast-action"
              onClick={() => {
                remove(id);
                action.onSelect();
              }}
            >
              {action.label}
            </button>
          )}
        </div>
      ))}
    </div>,
    dialog ?? document.body,
  );
}
