/**
 * The thread that reads links from the disk, so that requests do not wait for that in the event
 * loop.
 */
import { findStore } from "./store-files.ts";
import { StoreReader } from "./store.ts";

/**
 * A message to the thread: the link to read, and the folder of the store. It sends one after each,
 * when the pages of the link are in memory, if they could be read.
 */
export type SlowRead = { dir: string; domain: string; alias: string };

declare const self: Worker;

let reader: StoreReader | undefined;
let inode: number | undefined;

/**
 * Reads a link, however long the disk takes. An error here occurs again when the request reads the
 * link.
 */
function read({ dir, domain, alias }: SlowRead): void {
  try {
    const present = findStore(dir);
    if (present === undefined) return;
    if (reader === undefined || present.inode !== inode) {
      reader?.close();
      reader = new StoreReader(present.dir);
      ({ inode } = present);
    }
    reader.find(domain, alias);
  } catch {
    reader?.close();
    reader = undefined;
  }
}

self.addEventListener("message", ({ data }: MessageEvent<SlowRead>): void => {
  read(data);
  self.postMessage(undefined);
});
