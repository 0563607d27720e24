/** The thread that builds the file of a snapshot. */
import { usePostgres } from "../postgres.ts";
import { buildSnapshot, type SnapshotContents } from "./snapshot.ts";

/** The message to the thread: where the links are, and the file to write. */
export type BuildCommand = { databaseUrl: string; path: string };

/** The message from the thread. */
export type BuildResult = SnapshotContents | { failure: string };

declare const self: Worker;

async function build({ databaseUrl, path }: BuildCommand): Promise<BuildResult> {
  try {
    return await usePostgres(databaseUrl, (sql) => buildSnapshot(sql, path));
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) };
  }
}

self.addEventListener("message", ({ data }: MessageEvent<BuildCommand>): void => {
  void build(data).then((result) => self.postMessage(result));
});
