/** Looks up the proof of each verified domain once a day. */
import type { Log } from "../../shared/log.ts";
import { repeat, type Repetition } from "../../shared/repeat.ts";
import type { DomainService } from "./service.ts";

/** Time between two batches. */
const INTERVAL_MS = 60_000;

/** Proofs that one batch looks up in sequence: each takes a few seconds at most. */
const BATCH = 20;

/** Looks up proofs in the background. Each process claims its own domains. */
export const checkProofs = (domains: DomainService, log: Log): Repetition =>
  repeat(async () => {
    await domains
      .checkProofs(BATCH)
      .catch((error: unknown) => log.warn({ error }, "proof_checks_failed"));
    return INTERVAL_MS;
  }, INTERVAL_MS);
