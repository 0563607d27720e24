/**
 * The open modal dialogs. The browser displays them above everything else and makes the rest of the
 * page inert, so what must stay usable is rendered in the last one.
 */

let open: readonly HTMLDialogElement[] = [];
const listeners = new Set<() => void>();

function update(next: readonly HTMLDialogElement[]): void {
  open = next;
  for (const notify of listeners) notify();
}

/** Opens a dialog; returns a function that closes it. */
export function openModal(dialog: HTMLDialogElement): () => void {
  dialog.showModal();
  update([...open, dialog]);
  return () => {
    update(open.filter((other) => other !== dialog));
    dialog.close();
  };
}

/** The dialog that was opened last. */
export const lastOpenDialog = (): HTMLDialogElement | undefined => open.at(-1);

/** Calls a function whenever a dialog opens or closes; returns a function that ends that. */
export function onOpenDialogsChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
