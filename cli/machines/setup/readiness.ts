/** Whether the processes of this host are ready, as each says itself. */
import type { Step } from "./step.ts";

/** Each process of this host, with the port of its health. */
const METRICS_PORTS: Record<string, number> = {
  "shorthop-worker": 9103,
  "shorthop-api@1": 9511,
  "shorthop-api@2": 9512,
  "shorthop-redirector@1": 9111,
  "shorthop-redirector@2": 9112,
};

/** A redirector may read all links first. */
const READY_MS = 180_000;
const POLL_MS = 250;
const RESPONSE_MS_MAX = 2_000;

/** Of a response that is not ready, so much is shown. */
const SHOWN_MAX = 300;

/** A step that waits until these units are ready. */
export const readinessStep = (units: readonly string[]): Step => ({
  name: "services",
  async inspect() {
    const waiting = await listWaiting(units);
    if (waiting.length === 0) return [];
    return [
      {
        title: "wait until all are ready",
        async apply() {
          const deadline = Date.now() + READY_MS;
          let left = await listWaiting(units);
          while (left.length > 0 && Date.now() < deadline) {
            await Bun.sleep(POLL_MS);
            left = await listWaiting(units);
          }
          if (left.length > 0)
            throw new Error(
              `Not ready after three minutes: ${left.join("; ")}. shorthop doctor says more.`,
            );
        },
      },
    ];
  },
});

const listWaiting = async (units: readonly string[]): Promise<string[]> =>
  (await Promise.all(units.map(describeUnready))).filter((line) => line !== undefined);

/** Undefined when a process is ready. */
async function describeUnready(unit: string): Promise<string | undefined> {
  try {
    const response = await fetch(`http://127.0.0.1:${METRICS_PORTS[unit]}/readyz`, {
      signal: AbortSignal.timeout(RESPONSE_MS_MAX),
    });
    if (response.ok) return undefined;
    return `${unit}: ${(await response.text()).slice(0, SHOWN_MAX)}`;
  } catch {
    return `${unit} does not respond`;
  }
}
