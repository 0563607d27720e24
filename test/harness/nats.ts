/**
 * Only a NATS server with JetStream, for tests of its clients; starts in a fraction of a second.
 */
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { connect, type NatsConnection } from "nats";

import { acceptsClients, downloadPackage, findNatsServer } from "../../deploy/local/nats.ts";
import { findFreePort } from "../../deploy/local/ports.ts";
import type { Nats } from "../../shared/nats.ts";
import { makeOnce } from "../../shared/process-lock.ts";
import { eventually } from "./eventually.ts";
import { PROJECT_DIR } from "./stack.ts";

/** A NATS that is never reached. */
export const AWAY: Nats = {
  connection: new Promise(() => undefined),
  connected: () => false,
  inboxPrefix: undefined,
  on: () => undefined,
  close: () => Promise.resolve(),
};

const START_TIMEOUT_MS = 20_000;

const BIN = join(PROJECT_DIR, ".local", "bin");

/** A server that keeps its port and its folder whenever it runs. */
export class TestNats implements AsyncDisposable {
  readonly url: string;
  /** The URL of its monitoring. */
  readonly monitoring: string;
  /** The folder with its streams. */
  readonly dir = mkdtempSync(join(tmpdir(), "shorthop-nats-"));
  readonly #command: string[];
  readonly #config = `${this.dir}.conf`;
  #server: Bun.Subprocess | undefined;

  constructor(program: string, settings: string) {
    writeFileSync(this.#config, settings);
    const [port, monitoringPort] = [findFreePort(), findFreePort()];
    this.url = `nats://127.0.0.1:${port}`;
    this.monitoring = `http://127.0.0.1:${monitoringPort}`;
    const ports = ["-p", String(port), "-m", String(monitoringPort)];
    const address = ["-a", "127.0.0.1", ...ports];
    this.#command = [program, "-c", this.#config, ...address, "-js", "-sd", this.dir];
  }

  connect(): Promise<NatsConnection> {
    return connect({ servers: this.url, maxReconnectAttempts: -1, reconnectTimeWait: 50 });
  }

  /** The process id of the server. */
  pid(): number {
    return this.#server?.pid ?? 0;
  }

  /** The first file with the messages of a stream. */
  blockOf(stream: string): string {
    return join(this.dir, "jetstream/$G/streams", stream, "msgs/1.blk");
  }

  /** Stops the server's processing until it is resumed. */
  pause(): void {
    this.#server?.kill("SIGSTOP");
  }

  resume(): void {
    this.#server?.kill("SIGCONT");
  }

  /** Ends it at once; by SIGTERM it writes its indexes first. */
  async kill(signal: "SIGKILL" | "SIGTERM" = "SIGKILL"): Promise<void> {
    this.#server?.kill(signal);
    await this.#server?.exited;
  }

  /** Starts it, with its stored messages or without. */
  async start(store: "retained" | "lost"): Promise<void> {
    if (store === "lost") rmSync(this.dir, { recursive: true, force: true });
    this.#server = Bun.spawn(this.#command, { stdio: ["ignore", "ignore", "ignore"] });
    await eventually(async () => await acceptsClients(this.url), START_TIMEOUT_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    rmSync(this.dir, { recursive: true, force: true });
    rmSync(this.#config);
  }
}

/** Starts a server with a temporary data directory, and with settings of its configuration file. */
export async function startNats(settings = ""): Promise<TestNats> {
  const nats = new TestNats(await findNatsServer(BIN, console.log), settings);
  await nats.start("retained");
  return nats;
}

/**
 * The release after Debian 12; its nats-server is 2.10. The package is only unpacked, never
 * installed.
 */
const LATER_RELEASE =
  "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie main";

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
