/** The configuration directory in a backup: environment files, those of NATS, certificates. */
import { mkdirSync } from "node:fs";

import type { Content, Storage, StoredFile } from "./storage.ts";

/** Archives the directory with the modes of its files. */
export const packConfiguration = (
  storage: Storage,
  name: string,
  dir: string,
): Promise<StoredFile> =>
  storage.write(
    `${name}/configuration.tar.gz`,
    outputOf(["tar", "--create", "--gzip", `--directory=${dir}`, "."]),
  );

async function* outputOf(command: string[]): Content {
  const child = Bun.spawn(command, { stdio: ["ignore", "pipe", "inherit"] });
  yield* child.stdout;
  if ((await child.exited) !== 0) throw new Error(`${command[0]} failed.`);
}

/** Unpacks an archive into a directory; files that exist stay as they are. */
export async function unpackConfiguration(
  storage: Storage,
  { name }: StoredFile,
  dir: string,
): Promise<void> {
  mkdirSync(dir, { recursive: true, mode: 0o755 });
  const command = ["tar", "--extract", "--gzip", "--skip-old-files", `--directory=${dir}`];
  const child = Bun.spawn(command, { stdio: ["pipe", "inherit", "inherit"] });
  for await (const chunk of storage.read(name)) {
    void child.stdin.write(chunk);
    await child.stdin.flush();
  }
  await child.stdin.end();
  if ((await child.exited) !== 0) throw new Error("tar failed.");
}
