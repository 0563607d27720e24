/** The versions of nats-server that the shipped configuration is tested with. */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { downloadPackage, findNatsServer } from "../../deploy/local/nats.ts";
import { makeOnce } from "../../shared/make-once.ts";
import { PROJECT_DIR } from "./stack.ts";

/**
 * The release after Debian 12; its nats-server is 2.10. The package is only unpacked, never
 * installed.
 */
const LATER_RELEASE =
  "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie main";

const BIN = join(PROJECT_DIR, ".local", "bin");

/** A server program and its version, e.g. `[2, 9]`. */
export type NatsProgram = { path: string; version: [number, number] };

/** The machine's own server, on Debian 12 that is 2.9.10. */
export const ownNatsServer = async (): Promise<NatsProgram> =>
  withVersion(await findNatsServer(BIN, console.log));

/** The server of the next release of Debian; undefined, with a warning, where it cannot be had. */
export async function laterNatsServer(): Promise<NatsProgram | undefined> {
  const path = join(BIN, "nats-server-later");
  try {
    await makeOnce(path, downloadLater);
  } catch (error) {
    console.warn(`\n!!! no later nats-server (${String(error)}): it is NOT TESTED\n`);
    return undefined;
  }
  return withVersion(path);
}

async function downloadLater(path: string): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), "shorthop-nats-"));
  try {
    copyFileSync(await downloadPackage(work, LATER_RELEASE), path);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function withVersion(path: string): NatsProgram {
  const { stdout } = Bun.spawnSync([path, "--version"]);
  const [, major, minor] = /v(\d+)\.(\d+)/.exec(stdout.toString()) ?? [];
  return { path, version: [Number(major), Number(minor)] };
}
