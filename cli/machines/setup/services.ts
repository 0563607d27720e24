/** Units of systemd: enabled, running, and no older than the files that they read. */
import { existsSync, statSync } from "node:fs";

import { parseEnvironment } from "../../installation.ts";
import type { Host, Units } from "../host.ts";
import type { Change, Step } from "./step.ts";

/** A unit, and the files for whose changes it must be restarted. */
export type Service = { unit: string; reads: readonly string[] };

const PROPERTIES =
  "LoadState,ActiveState,UnitFileState,NeedDaemonReload,DropInPaths,ExecMainStartTimestamp";

/** `Thu 2026-11-26 11:09:17.123456 UTC`, by `--timestamp=us+utc`. */
const TIMESTAMP = /(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d\.\d{3})\d{3} UTC$/;

const RUNNING = new Set(["active", "reloading", "activating"]);

type State = Record<string, string>;

/**
 * A step that enables units, starts those that do not run, and restarts those that started before
 * one of their files was changed: one after another, each when the one before is ready.
 */
export const servicesStep = (name: string, host: Host, list: () => readonly Service[]): Step => ({
  name,
  async inspect() {
    const changes: Change[] = [];
    for (const service of list()) changes.push(...(await inspectService(service, host)));
    return changes;
  },
});

async function inspectService({ unit, reads }: Service, host: Host): Promise<Change[]> {
  const state = await readState(unit, host);
  const systemctl = (...words: string[]): Change => ({
    title: `systemctl ${words.join(" ")}`,
    async apply() {
      if (needsReload(state, reads, host)) await host.read(["systemctl", "daemon-reload"]);
      await host.read(["systemctl", ...words]);
    },
  });
  const changes: Change[] = [];
  if (["disabled", ""].includes(state["UnitFileState"] ?? "static"))
    changes.push(systemctl("enable", "--quiet", unit));
  if (!RUNNING.has(state["ActiveState"] ?? "")) changes.push(systemctl("start", unit));
  else if (isOutdated(state, reads, host)) changes.push(systemctl("restart", unit));
  return changes;
}

/** Where systemd reads units and drop-ins that an administrator makes. */
const UNITS = "/etc/systemd/system/";

/**
 * Whether a file of the unit, or a drop-in, is another than the one that systemd has read. Debian
 * 12's systemd does not say so of a drop-in in a folder that is new.
 */
function needsReload(state: State, reads: readonly string[], host: Host): boolean {
  const known = new Set((state["DropInPaths"] ?? "").split(" "));
  const isNew = (path: string) =>
    path.startsWith(UNITS) && existsSync(host.path(path)) && !known.has(path);
  return state["NeedDaemonReload"] === "yes" || reads.some(isNew);
}

function isOutdated(state: State, reads: readonly string[], host: Host): boolean {
  if (needsReload(state, reads, host)) return true;
  const started = parseTimestamp(state["ExecMainStartTimestamp"] ?? "");
  return reads
    .map((path) => host.path(path))
    .some((path) => existsSync(path) && statSync(path).mtimeMs > started);
}

/** In milliseconds since the epoch; 0 when the unit never ran. */
export function parseTimestamp(text: string): number {
  const [, date, time] = TIMESTAMP.exec(text) ?? [];
  return date === undefined ? 0 : Date.parse(`${date}T${time}Z`);
}

/** The properties of a unit; `UnitFileState` is empty for one that does not exist yet. */
async function readState(unit: string, host: Host): Promise<State> {
  const options = ["--timestamp=us+utc", `--property=${PROPERTIES}`];
  return parseEnvironment((await host.run(["systemctl", "show", ...options, unit])).stdout);
}

/** A step that waits until these units are ready, as each says itself. */
export const readinessStep = (units: Units, names: readonly string[]): Step => ({
  name: "services",
  async inspect() {
    if ((await units.listUnready(names)).length === 0) return [];
    return [{ title: "wait until all are ready", apply: () => units.waitUntilReady(names) }];
  },
});
