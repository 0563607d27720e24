/**
 * Only a NATS server with JetStream, for tests of its clients; starts in a fraction of a second.
 */
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { connect, type NatsConnection } from "nats";

import { acceptsClients, downloadPackage, findNatsServer } from "../../deploy/local/nats.ts";
import { findFreePort } from "../../deploy/local/ports.ts";
import { makeOnce } from "../../shared/make-once.ts";
import { eventually } from "./eventually.ts";
import { PROJECT_DIR } from "./stack.ts";

const START_TIMEOUT_MS = 20_000;

export type TestNats = {
  url: string;
  /** The folder with its streams. */
  dir: string;
  /** The URL of its monitoring. */
  monitoring: string;
  connect(): Promise<NatsConnection>;
  /** The process id of the server. */
  pid(): number;
  /** Stops the server's processing until it is resumed. */
  pause(): void;
  resume(): void;
  /** Kills the server. */
  kill(): Promise<void>;
  /** Starts it again on the same port, with its stored messages or without. */
  start(store: "retained" | "lost"): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
};

/** Starts a server with a temporary data directory, and with settings of its configuration file. */
export async function startNats(settings = ""): Promise<TestNats> {
  const program = await findNatsServer(join(PROJECT_DIR, ".local", "bin"), console.log);
  const dir = mkdtempSync(join(tmpdir(), "shorthop-nats-"));
  const config = `${dir}.conf`;
  writeFileSync(config, settings);
  const port = findFreePort();
  const url = `nats://127.0.0.1:${port}`;
  const monitoringPort = findFreePort();
  let server: Bun.Subprocess | undefined;

  async function start(store: "retained" | "lost"): Promise<void> {
    if (store === "lost") rmSync(dir, { recursive: true, force: true });
    const ports = ["-p", String(port), "-m", String(monitoringPort)];
    server = Bun.spawn([program, "-c", config, "-a", "127.0.0.1", ...ports, "-js", "-sd", dir], {
      stdio: ["ignore", "ignore", "ignore"],
    });
    await eventually(async () => await acceptsClients(url), START_TIMEOUT_MS);
  }

  async function kill(): Promise<void> {
    server?.kill("SIGKILL");
    await server?.exited;
  }

  await start("retained");
  return {
    url,
    dir,
    monitoring: `http://127.0.0.1:${monitoringPort}`,
    connect: () => connect({ servers: url, maxReconnectAttempts: -1, reconnectTimeWait: 50 }),
    pid: () => server?.pid ?? 0,
    pause: () => server?.kill("SIGSTOP"),
    resume: () => server?.kill("SIGCONT"),
    kill,
    start,
    async [Symbol.asyncDispose]() {
      await kill();
      rmSync(dir, { recursive: true, force: true });
      rmSync(config);
    },
  };
}

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
