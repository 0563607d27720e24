/** Builds releases, and installs them by named code blocks of documents: ```` ```sh NAME ````. */
import { cpSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import * as z from "zod";

import { run } from "../../deploy/packages/run.ts";
import { PROJECT_DIR } from "../harness/stack.ts";
import type { MachineLinks } from "./bulk-links.ts";
import { CLICKHOUSE_SECRETS } from "./clickhouse.ts";
import type { Machine } from "./machine.ts";

/** Returns the scripts of the named blocks of documents. Throws when two have the same name. */
export function readBlocks(...paths: readonly string[]): Map<string, string> {
  const blocks = new Map<string, string>();
  const text = paths.map((path) => readFileSync(path, "utf8")).join("\n");
  for (const [, name = "", script = ""] of text.matchAll(/^```sh ([\w-]+)\n([^]*?)^```$/gm)) {
    if (blocks.has(name)) throw new Error(`${paths.join(", ")} have two blocks named ${name}.`);
    blocks.set(name, script);
  }
  return blocks;
}

/** The script of a named block of documents of `docs/`. Throws when they have none. */
export function readBlock(name: string, ...files: readonly string[]): string {
  const blocks = readBlocks(...files.map((file) => join(PROJECT_DIR, "docs", file)));
  const script = blocks.get(name);
  if (script === undefined) throw new Error(`${files.join(" and ")} have no block ${name}.`);
  return script;
}

export const buildRelease = (revision: number): void =>
  void run([process.execPath, "deploy/build.ts", "--revision", String(revision)], PROJECT_DIR);

/** Copies the release that was built last. */
export function copyRelease(root: string, folder: string): void {
  const dist = join(PROJECT_DIR, "dist");
  mkdirSync(join(root, folder));
  for (const name of readdirSync(dist).filter((file) => /\.deb$|^SHA256SUMS$/.test(file)))
    cpSync(join(dist, name), join(root, folder, name));
}

type BlockOptions = {
  /** The release whose folder the block runs in. */
  revision?: number;
  /** Changes what a machine without a network cannot do. */
  edit?: (script: string) => string;
};

export type Context = {
  machine: Machine;
  /** The account's key. */
  key: string;
  /**
   * Runs a named block of the document, in a folder with the files of the release if it needs them.
   */
  runBlock(name: string, options?: BlockOptions): Promise<string>;
  /** Thousands of links, from the step that makes them. */
  bulk?: MachineLinks;
  /** Builds a release, and copies its files to the machine. */
  addRelease(revision: number): void;
};

const folderOf = (revision: number): string => `/root/release-${revision}`;

const account = z.object({ id: z.string(), key: z.string() });

/** Installs the first release and starts all services. */
export async function installRelease(machine: Machine, root: string): Promise<Context> {
  const runBlock: Context["runBlock"] = (
    name,
    { revision = 1, edit = (script: string) => script } = {},
  ) => {
    const script = readBlock(name, "operations.md", "installing-by-hand.md");
    return machine.run(`cd ${folderOf(revision)}\n${edit(script)}`);
  };
  function addRelease(revision: number): void {
    buildRelease(revision);
    copyRelease(root, folderOf(revision));
  }

  addRelease(1);
  for (const name of ["packages", "secrets", "postgresql", "nats"]) await runBlock(name);
  await machine.run(`cat >> /root/shorthop.secrets <<'END'\n${CLICKHOUSE_SECRETS}END`);
  for (const name of ["configuration", "start"]) await runBlock(name);
  const { key } = account.parse(JSON.parse(await runBlock("account")));
  return { machine, key, runBlock, addRelease };
}
