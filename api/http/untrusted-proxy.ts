/** The warning about a proxy that may be missing from TRUSTED_PROXIES. */
import type { Log } from "../../shared/log.ts";

/**
 * Logs once that a proxy may be missing from TRUSTED_PROXIES: all its clients then share one rate
 * limit.
 */
export function warnOfUntrustedProxy(log: Log): () => void {
  let warned = false;
  return () => {
    if (warned) return;
    warned = true;
    log.warn({ variable: "TRUSTED_PROXIES" }, "forwarded_for_from_untrusted_peer");
  };
}
