/** Makes every host take a snapshot, on an operator's command. */
import type { JetStreamManager } from "nats";

import type { Uuid } from "../../shared/ids.ts";
import type { LogVerifier } from "../../shared/links-log/signature.ts";
import { listSnapshots } from "../../shared/links-log/snapshots.ts";
import { cutLog, type LogHead } from "../links-log/log.ts";
import type { Sql } from "../postgres.ts";

const POLL_MS = 200;

/** How long a snapshot of all links may take. */
const SNAPSHOT_MS_MAX = 600_000;

/** Links of the snapshot that all hosts take. */
export type Resync = { links: number };

/**
 * Ends the history that hosts have, and waits until there is a snapshot of the new one, which an
 * API process makes. Until they have it, hosts redirect with the links that they have. Throws when
 * there is none for a long time; one follows as soon as an API process and NATS run.
 */
export const resyncLinks = async (
  sql: Sql,
  manager: JetStreamManager,
  verifier: LogVerifier,
): Promise<Resync> => await waitForSnapshot(manager, verifier, await cutLog(sql));

/**
 * As {@link resyncLinks}, for hosts that have links of another database: this one takes its
 * identity.
 */
export const adoptDatabase = async (
  sql: Sql,
  manager: JetStreamManager,
  verifier: LogVerifier,
  database: Uuid,
): Promise<Resync> => await waitForSnapshot(manager, verifier, await cutLog(sql, database));

async function waitForSnapshot(
  manager: JetStreamManager,
  verifier: LogVerifier,
  { database, term, isEmpty }: LogHead,
): Promise<Resync> {
  if (isEmpty) throw new Error("PostgreSQL has no account, and so no links.");
  const deadline = performance.now() + SNAPSHOT_MS_MAX;
  for (;;) {
    const made = (await listSnapshots(manager, verifier)).find(
      ({ manifest }) => manifest.database === database && manifest.start.term >= term,
    );
    if (made !== undefined) return { links: made.manifest.links };
    if (performance.now() > deadline)
      throw new Error(
        "No API process makes a snapshot. One does so as soon as it runs and reaches NATS.",
      );
    await Bun.sleep(POLL_MS);
  }
}
