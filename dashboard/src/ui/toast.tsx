/** Short messages that come and go; screen readers are told of them too. */
import { CircleAlert, CircleCheck } from "lucide-react";
import { useSyncExternalStore } from "react";

type Toast = { id: number; text: string; kind: "done" | "failed" };

const SHOWN_MS = 5_000;

let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const tell of listeners) tell();
}

/** Shows a message for a while. */
export function toast(text: string, kind: Toast["kind"] = "done"): void {
  const id = ++lastId;
  change([...toasts, { id, text, kind }]);
  setTimeout(() => change(toasts.filter((known) => known.id !== id)), SHOWN_MS);
}

export function ToastRegion() {
  const shown = useSyncExternalStore(
    (tell) => {
      listeners.add(tell);
      return () => listeners.delete(tell);
    },
    () => toasts,
  );
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text, kind }) => (
        <div key={id} className={`toast toast-${kind}`}>
          {kind === "done" ? <CircleCheck aria-hidden /> : <CircleAlert aria-hidden />}
          {text}
        </div>
      ))}
    </div>
  );
}
