/** The store of the host as a process reads it: opened once there is one, and again when another file took its place. */
import { createLimitedLog } from "../../shared/limited-log.ts";
import { MalformedRecordError } from "../../shared/links-store/stored-record.ts";
import type { Log } from "../../shared/log.ts";
import { findStore, isDamage } from "./store-files.ts";
import { openReader, type StoreReader } from "./store-reader.ts";

/** How often the file is looked for: another one may have taken the place of a damaged one. */
const FILE_CHECK_MS = 100;

type PresentStoreDeps = {
  dir: string;
  /** Called with a store that was opened; it counts as not opened when this throws. */
  onOpen: (store: StoreReader) => void;
  onClose: () => void;
  /** Says that the store is damaged. */
  onDamaged: (error: unknown) => void;
  log: Log;
};

export type PresentStore = ReturnType<typeof createPresentStore>;

export function createPresentStore({ dir, onOpen, onClose, onDamaged, log }: PresentStoreDeps) {
  const logFailed = createLimitedLog(log, "link_change_failed");
  let store: StoreReader | undefined;
  /** The file that is open; another one may take its place. */
  let inode = 0;
  let checkedAt = -Infinity;

  function close(): void {
    store?.close();
    store = undefined;
    inode = 0;
    onClose();
  }

  return {
    /** Opens the store once there is one, and again when another file has taken its place. */
    reopen(): void {
      const now = performance.now();
      if (now - checkedAt < FILE_CHECK_MS) return;
      checkedAt = now;
      const present = findStore(dir);
      // One that was deleted is read until there is another one.
      if (present === undefined || (present.inode === inode && store !== undefined)) return;
      close();
      try {
        store = openReader(present.dir);
        ({ inode } = present);
        onOpen(store);
      } catch {
        // It is just being made.
        close();
      }
    },
    /** Runs something on the store; undefined while there is none, or when it fails: then it is opened again. */
    use<Result>(run: (store: StoreReader) => Result): Result | undefined {
      if (store === undefined) return undefined;
      try {
        return run(store);
      } catch (error) {
        if (error instanceof MalformedRecordError) return undefined;
        close();
        if (isDamage(error)) onDamaged(error);
        else logFailed("store", error);
        return undefined;
      }
    },
    isOpen: (): boolean => store !== undefined,
    close,
    logFailed,
  };
}
