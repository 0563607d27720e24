/** Locks a journal for one process: two would recover each other's open segments. */
import { tryLock } from "../../shared/process-lock.ts";

/** Locks a directory until the process ends; throws when another process holds the lock. */
export function lockJournal(dir: string): void {
  if (tryLock("journal", dir) === undefined)
    throw new Error(`Another redirector has the journal in ${dir}: each needs one of its own.`);
}
