/** Runs the legitimate client in a thread of its own, so that the attack does not delay it. */
import type { ClientReport, ClientTask } from "./legitimate-client.ts";

export type { ClientReport } from "./legitimate-client.ts";

/** Starts the thread; the client works from `start` on. */
export function startLegitimateClient() {
  const worker = new Worker(new URL("legitimate-client.ts", import.meta.url).href);
  return {
    start: (task: ClientTask) => worker.postMessage(task),
    /** What it has measured since the last report. */
    report: () =>
      new Promise<ClientReport>((resolve) => {
        worker.addEventListener("message", ({ data }) => resolve(data), { once: true });
        worker.postMessage("report");
      }),
    stop: () => worker.terminate(),
  };
}
