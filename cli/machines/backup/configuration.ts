/** The configuration directory in a backup: environment files, those of NATS, certificates. */
import { mkdirSync } from "node:fs";

import { type Content, readBytes, type Storage, type StoredFile } from "./storage.ts";

/** Some environment files and certificates. */
const ARCHIVE_BYTES_MAX = 64 * 1024 ** 2;

/** A file or a folder, as tar lists it, with permissions only. */
const PLAIN_ENTRY = /^[-d](?:[r-][w-][x-]){3} /;

/** Archives the directory with the modes of its files: what a link leads to, but no link. */
export const packConfiguration = (
  storage: Storage,
  name: string,
  dir: string,
): Promise<StoredFile> =>
  storage.write(
    `${name}/configuration.tar.gz`,
    outputOf([
      "tar",
      "--create",
      "--gzip",
      "--dereference",
      "--hard-dereference",
      "--mode=a-s,-t",
      `--directory=${dir}`,
      ".",
    ]),
  );

async function* outputOf(command: string[]): Content {
  const child = Bun.spawn(command, { stdio: ["ignore", "pipe", "inherit"] });
  yield* child.stdout;
  if ((await child.exited) !== 0) throw new Error(`${command[0]} failed.`);
}

/**
 * Unpacks an archive into a directory; files that exist stay as they are. Throws, with nothing
 * unpacked, when it has more than files and folders: whoever can write a backup is not root.
 */
export async function unpackConfiguration(
  storage: Storage,
  { name }: StoredFile,
  dir: string,
): Promise<void> {
  const archive = await readBytes(storage, name, ARCHIVE_BYTES_MAX);
  // Escaped, so that each entry is one line.
  const list = await runTar(["--list", "--verbose", "--quoting-style=escape"], archive);
  const entries = list.trimEnd().split("\n");
  const wrong = entries.find((entry) => !PLAIN_ENTRY.test(entry));
  if (wrong !== undefined)
    throw new Error(`${name} in ${storage.place} has more than files and folders: ${wrong}`);
  mkdirSync(dir, { recursive: true, mode: 0o755 });
  await runTar(["--extract", "--skip-old-files", `--directory=${dir}`], archive);
}

async function runTar(options: readonly string[], archive: Buffer): Promise<string> {
  const child = Bun.spawn(["tar", "--gzip", ...options], {
    stdio: [archive, "pipe", "inherit"],
  });
  const output = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error("tar failed.");
  return output;
}
