/** The files of a store that does not run: where they are, and how they are copied and put back. */
import { realpathSync, rmSync } from "node:fs";
import { join } from "node:path";

import { copyFiles } from "../../harness/templates.ts";
import type { System } from "./system.ts";

export type Store = "postgres" | "nats" | "clickhouse";

/** The folder with all data of a store of the stack. */
export function storeDir({ stack }: Pick<System, "stack">, store: Store): string {
  const folders = {
    postgres: join(stack.dataDir, "postgres", "data"),
    nats: join(stack.dataDir, "nats", "store"),
    clickhouse: join(stack.dataDir, "clickhouse"),
  };
  return realpathSync(folders[store]);
}

/** Copies a folder; returns the function that puts the copy in its place. */
export function copyAside(dir: string, copy: string): () => void {
  copyFiles(dir, copy);
  return () => {
    rmSync(dir, { recursive: true, force: true });
    copyFiles(copy, dir);
  };
}
