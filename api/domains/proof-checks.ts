/** Looks up the proof of each verified domain once a day. */
import type { Log } from "../../shared/log.ts";
import type { DomainService } from "./service.ts";

const INTERVAL_MS = 60_000;

/** Proofs that one batch looks up in sequence: each takes a few seconds at most. */
const BATCH = 20;

/**
 * Starts the checks in the background and returns a function that stops them. Each process claims
 * its own domains.
 */
export function startProofChecks(
  domains: Pick<DomainService, "checkProofs">,
  log: Log,
): () => void {
  const timer = setInterval(() => {
    domains
      .checkProofs(BATCH)
      .catch((error: unknown) => log.warn({ error }, "proof_checks_failed"));
  }, INTERVAL_MS);
  return () => clearInterval(timer);
}
