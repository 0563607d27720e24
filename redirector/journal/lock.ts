/**
 * Locks a journal for one process: two would recover each other's open segments. The lock is a name in Linux's
 * abstract socket namespace, which the kernel releases when the process ends, however it ends.
 */
import { realpathSync } from "node:fs";

/** Locks a directory until the process ends; throws when another process holds the lock. */
export function lockJournal(dir: string): void {
  const name = `\0shorthop-journal:${new Bun.CryptoHasher("sha256").update(realpathSync(dir)).digest("hex")}`;
  try {
    Bun.listen({ unix: name, socket: { data: (socket) => void socket.end() } }).unref();
  } catch (cause) {
    throw new Error(`Another redirector has the journal in ${dir}: each needs one of its own.`, {
      cause,
    });
  }
}
