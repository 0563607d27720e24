/**
 * Opens the host's store for reading as soon as it exists, and reopens it when another file has
 * replaced it.
 */
import { createLimitedLog } from "../../shared/limited-log.ts";
import { MalformedRecordError } from "../../shared/links-store/stored-record.ts";
import type { Log } from "../../shared/log.ts";
import { findStore, isDamage } from "./store-files.ts";
import { openReader, type StoreReader } from "./store-reader.ts";

/** Interval at which the file is checked: another one may have replaced a damaged one. */
const FILE_CHECK_MS = 100;

type PresentStoreDeps = {
  dir: string;
  /** Called with an opened store, which is closed again if this throws. */
  onOpen: (store: StoreReader) => void;
  onClose: () => void;
  /** Reports that the store is damaged. */
  onDamaged: (error: unknown) => void;
  log: Log;
};

export type PresentStore = ReturnType<typeof createPresentStore>;

export function createPresentStore({ dir, onOpen, onClose, onDamaged, log }: PresentStoreDeps) {
  const logFailed = createLimitedLog(log, "link_change_failed");
  let store: StoreReader | undefined;
  /** The inode of the open file; another file may replace it. */
  let inode = 0;
  let checkedAt = -Infinity;

  function close(): void {
    store?.close();
    store = undefined;
    inode = 0;
    onClose();
  }

  return {
    /** Opens the store when it exists, and again when another file has replaced it. */
    reopen(): void {
      const now = performance.now();
      if (now - checkedAt < FILE_CHECK_MS) return;
      checkedAt = now;
      const present = findStore(dir);
      // A deleted file is read until there is another one.
      if (present === undefined || (present.inode === inode && store !== undefined)) return;
      close();
      try {
        store = openReader(present.dir);
        ({ inode } = present);
        onOpen(store);
      } catch {
        // It is just being created.
        close();
      }
    },
    /**
     * Runs a function on the store; undefined while there is none, or when it fails. After a
     * failure the store is reopened.
     */
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
