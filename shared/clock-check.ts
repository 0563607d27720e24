/** Compares this machine's clock with that of a store. */
import type { Check } from "./preflight.ts";

/** Beyond this, counts of the last minutes and expiries are visibly wrong. */
const WARNING_SECONDS = 1;

/** Beyond this, certificates, sessions and time buckets are wrong. */
const FAILURE_SECONDS = 60;

/**
 * `read` returns the store's time in Unix milliseconds; undefined when the store does not report
 * it.
 */
export const checkClock = (store: string, read: () => Promise<number | undefined>): Check => ({
  name: `clock of ${store}`,
  mend: "Mend the connection first.",
  async run() {
    const sent = Date.now();
    const theirs = await read();
    if (theirs === undefined) return undefined;
    const received = Date.now();
    // The store read its clock at some moment in between.
    const tolerance = (received - sent) / 2_000;
    const seconds = (theirs - (sent + received) / 2) / 1_000;
    const offset = Math.abs(seconds) - tolerance;
    if (offset <= WARNING_SECONDS) return undefined;
    return {
      status: offset > FAILURE_SECONDS ? "failed" : "warning",
      detail: `it is ${Math.abs(seconds).toFixed(1)} s ${seconds > 0 ? "ahead of" : "behind"} this machine's`,
      mend: "Synchronise both machines' clocks (timedatectl, systemd-timesyncd or chrony).",
    };
  },
});
