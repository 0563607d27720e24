/** Transient messages, also announced by screen readers. */
import { CircleAlert, CircleCheck } from "lucide-react";
import { useSyncExternalStore } from "react";

type Toast = { id: number; text: string; kind: "success" | "error" };

const TOAST_DURATION_MS = 5_000;

let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function update(next: readonly Toast[]): void {
  toasts = next;
  for (const notify of listeners) notify();
}

/** Shows a message for 5 seconds. */
export function toast(text: string, kind: Toast["kind"] = "success"): void {
  const id = ++lastId;
  update([...toasts, { id, text, kind }]);
  setTimeout(() => update(toasts.filter((shown) => shown.id !== id)), TOAST_DURATION_MS);
}

export function ToastRegion() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text, kind }) => (
        <div key={id} className={`toast toast-${kind}`}>
          {kind === "success" ? <CircleCheck aria-hidden /> : <CircleAlert aria-hidden />}
          {text}
        </div>
      ))}
    </div>
  );
}
