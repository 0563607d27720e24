/**
 * What a cell acts on: a stack and another host with links, a history of clicks, visitors, and
 * people who change links.
 */
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";

import { type Clients, createFollowedLinks, startClients } from "../../chaos/clients.ts";
import { type RecordedChanges, startChanges } from "../../chaos/events.ts";
import type { Ledger } from "../../chaos/targets.ts";
import { createAccount } from "../../harness/admin.ts";
import { BULK_LIMITS } from "../../harness/bulk-links.ts";
import type { Changes } from "../changes.ts";
import type { Hosts } from "../faults.ts";
import type { Watch } from "../links.ts";
import { clockEnvironment, type Clocks, setClocks } from "./clocks.ts";
import { type Doctor, openDoctor } from "./doctor.ts";
import { makeHistory } from "./history.ts";
import { geoipPath, startHosts } from "./hosts.ts";
import { listen, type Listener } from "./listener.ts";
import { stopProcess } from "./stop.ts";

/**
 * The pause of each of those who follow links: some hundred requests a second, beside those that
 * are counted.
 */
const FOLLOW_PAUSE_MS = 40;

export type System = Hosts & {
  /** The journal of the other host, and the folder in which it and its links store are. */
  otherJournal: string;
  otherDir: string;
  /** A folder for what a cell keeps. */
  dir: string;
  ledger: Ledger;
  changes: Changes;
  /** Changes each of which has to be an event that a webhook gets; only where clocks are set. */
  recorded: RecordedChanges | undefined;
  clients: Clients;
  watch: Watch;
  listener: Listener;
  doctor: Doctor;
  /** Raw and rolled-up clicks of the time before, of which none may be deleted. */
  history: Readonly<Record<string, number>>;
  /** Keeps what is wrong for a while, and asks `doctor` meanwhile. */
  hold(ms?: number): Promise<void>;
  /** Lets it work for as long, before something is wrong or after it. */
  rest(): Promise<void>;
  /** Calls `work` when the processes have ended. */
  onDispose(work: () => void): void;
  /** Sets the clocks of the programs that the system was started for. */
  setClocks(seconds: number): void;
  /** Ends a process of the stack by a signal, and starts it again when `meanwhile` has ended. */
  stopProcess(
    name: "api" | "worker" | "redirector",
    meanwhile: () => Promise<void>,
    signal?: NodeJS.Signals,
  ): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
};

export type SystemOptions = {
  links: number;
  /** How long a cell keeps what is wrong, in milliseconds. */
  holdMs: number;
  clocks?: Clocks | undefined;
};

export async function startSystem({
  links: count,
  holdMs,
  clocks,
}: SystemOptions): Promise<System> {
  await using cleanup = new AsyncDisposableStack();
  const { dir, hosts, redirectors, folders, onDispose } = await startHosts(count, clocks, cleanup);
  const { stack, links } = hosts;
  const followed = await createFollowedLinks(stack, links.key);
  const tallies = new Map(followed.map(({ id }) => [id, { redirected: 0, unknown: 0 }]));
  const deletedDir = join(dir, "deleted-segments");
  mkdirSync(deletedDir);
  const ledger: Ledger = { links: followed, tallies, retried: new Set(), deletedDir };
  const history = await makeHistory(stack.info());

  const doctor = await openDoctor(
    stack,
    { ...folders, GEOIP_DATABASES: geoipPath(dir) },
    clocks?.doctor === undefined ? {} : clockEnvironment(dir, clocks.doctor),
  );
  const listener = await listen(() => ({
    api: stack.info().api_metrics_url,
    redirector: stack.info().redirector_metrics_url,
    worker: stack.info().worker_metrics_url,
    "other redirector": hosts.other.metricsUrl,
  }));
  const clients = startClients(ledger, () => [stack.info().short_url, hosts.other.url], 0);
  const changes = links.startChanges();
  const recorded = clocks === undefined ? undefined : cleanup.use(await recordChanges(stack));
  const watch = links.watch(redirectors, FOLLOW_PAUSE_MS);
  const resources = cleanup.move();

  const system: System = {
    ...hosts,
    get other() {
      return hosts.other;
    },
    otherJournal: folders.JOURNAL_DIR,
    otherDir: dirname(folders.JOURNAL_DIR),
    dir,
    ledger,
    clients,
    changes,
    recorded,
    watch,
    listener,
    doctor,
    history,
    async hold(ms = holdMs) {
      await Promise.all([Bun.sleep(ms), doctor.examine().then(listener.note)]);
    },
    rest: () => Bun.sleep(holdMs),
    onDispose,
    setClocks: (seconds) => setClocks(dir, clocks?.programs ?? [], seconds),
    stopProcess: (name, meanwhile, signal = "SIGKILL") =>
      stopProcess(stack, dir, name, meanwhile, signal),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
  return system;
}

/** Changes links of an account of their own, and has the events delivered to a webhook. */
async function recordChanges(stack: Hosts["stack"]): Promise<RecordedChanges> {
  const { key } = await createAccount(stack, "enterprise", BULK_LIMITS);
  return await startChanges({ key, apiUrl: () => stack.info().api_url });
}
