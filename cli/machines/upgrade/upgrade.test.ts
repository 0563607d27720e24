/** Goal: an upgrade does everything in its order, and puts the programs back when it fails. */
import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Installation } from "../../installation.ts";
import { Host, Units, WORKER } from "../host.ts";
import { Upgrade } from "./upgrade.ts";

const UNITS = [
  "shorthop-redirector@1.service",
  "shorthop-api@1.service",
  "shorthop-worker.service",
];

type Situation = {
  /** The command that fails, by a part of it. */
  failing?: string;
  /** Whether all are ready, each time that is waited for. */
  ready?: boolean[];
  installed?: string[];
  versions?: Record<string, string>;
  migrates?: boolean;
};

/** Upgrades a host of which only what it runs is real; returns what it ran, in this order. */
async function upgradeOn(situation: Situation) {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-upgrade-"));
  const ran: string[] = [];
  const {
    failing,
    ready = [],
    installed = ["shorthop", "shorthop-api"],
    versions = {},
  } = situation;
  let waited = 0;
  const answers: [RegExp, (command: readonly string[]) => string][] = [
    [/print-architecture/, () => "amd64\n"],
    [
      /dpkg-deb --show/,
      (command) => {
        const [file = ""] = /[\w-]+\.deb$/.exec(command.at(-1) ?? "") ?? [];
        return [file.replace(".deb", ""), versions[file] ?? "2.0", "amd64"].join("\t");
      },
    ],
    [/dpkg-query --show/, () => installed.map((name) => `ii \t${name}\t1.0\n`).join("")],
    [/list-units/, () => UNITS.map((unit) => `${unit} loaded active running\n`).join("")],
    [
      /--status/,
      (command) => `Package: ${command[2]}\nStatus: install ok installed\nVersion: 1.0\n`,
    ],
    [/--compare-versions 2.0 gt 1.0/, () => ""],
    [/--listfiles/, () => "/.\n"],
    // As dpkg-deb does.
    [/--build/, (command) => (writeFileSync(command.at(-1) ?? "", ""), "")],
  ];
  class FakeHost extends Host {
    override read(command: readonly string[]): Promise<string> {
      const line = command.join(" ");
      const found = answers.find(([pattern]) => pattern.test(line));
      return found === undefined
        ? Promise.reject(new Error(line))
        : Promise.resolve(found[1](command));
    }
    override show(command: readonly string[]): Promise<void> {
      const line = command
        .join(" ")
        .replaceAll(`${dir}/`, "")
        .replaceAll(`${process.cwd()}/`, "")
        .replace("apt-get install --yes -o Dpkg::Options::=--force-confold", "install");
      ran.push(line);
      const fails = failing !== undefined && line.includes(failing);
      return fails ? Promise.reject(new Error(`${line} failed.`)) : Promise.resolve();
    }
  }
  class FakeUnits extends Units {
    override waitUntilReady(): Promise<void> {
      return (ready[waited++] ?? true)
        ? Promise.resolve()
        : Promise.reject(new Error("Not ready: shorthop-api@1.service."));
    }
  }
  const fake = new FakeHost({});
  const grant = () => Promise.resolve(void ran.push("grant"));
  const upgrade = new Upgrade(
    fake,
    new FakeUnits(fake, new Installation({})),
    (situation.migrates ?? true) ? { backup: true, grant } : undefined,
    join(dir, "saved"),
  );
  const outcome = await upgrade
    .run(["shorthop.deb", "shorthop-api.deb"], () => undefined)
    .then(
      () => "done",
      (error: Error) => error.message,
    );
  rmSync(dir, { recursive: true, force: true });
  return { outcome, ran };
}

const REPLACED = [
  "/usr/bin/shorthop backup",
  "systemctl stop shorthop-worker.service",
  "install shorthop.deb",
  "/usr/bin/shorthop migrate",
  "grant",
  "install shorthop-api.deb",
  "systemctl start shorthop-worker.service",
];

const PUT_BACK = [
  "systemctl stop shorthop-worker.service",
  "install --allow-downgrades saved/shorthop_1.0.deb saved/shorthop-api_1.0.deb",
  ...UNITS.map((unit) => `systemctl start ${unit}`),
];

const UNMIGRATED = REPLACED.filter((line) => !/backup|migrate|grant/.test(line));
const putBackAfter = (steps?: number) => [...REPLACED.slice(0, steps), ...PUT_BACK];
const AGAIN = "The upgrade to 2.0 failed; 1.0 runs again. Schemas stay as they are.";
const EARLIER = { "shorthop.deb": "1.0", "shorthop-api.deb": "1.0" };

test.each<[string, Situation, ran: string[], outcome: string]>([
  ["A backup comes first, then executable, schemas, processes, worker", {}, REPLACED, "done"],
  ["Without migrate.env no schema is touched", { migrates: false }, UNMIGRATED, "done"],
  ["A migration fails", { failing: "shorthop migrate" }, putBackAfter(4), AGAIN],
  ["An installation fails", { failing: "install shorthop-api.deb" }, putBackAfter(6), AGAIN],
  ["New processes do not become ready", { ready: [true, false] }, putBackAfter(), AGAIN],
  ["One is not ready before", { ready: [false] }, [], "Not ready: shorthop-api@1.service."],
  ["A backup fails", { failing: "shorthop backup" }, REPLACED.slice(0, 1), "backup failed"],
  ["Files differ", { versions: { "shorthop-api.deb": "3.0" } }, [], "several versions"],
  ["They are not later", { versions: EARLIER }, [], "not later than 1.0"],
  [
    "One is missing",
    { installed: ["shorthop", "shorthop-worker"] },
    [],
    "lacks installed packages",
  ],
])(
  "%s: programs are replaced in order, put back, or left alone",
  async (_, situation, ran, outcome) => {
    const upgraded = await upgradeOn(situation);
    expect(upgraded.ran).toEqual(ran);
    expect(upgraded.outcome).toContain(outcome);
  },
);

test("the address of a process is that of its environment file", () => {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-etc-"));
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, "api.env"), "API_METRICS_HOST=10.0.0.1\n");
  writeFileSync(join(dir, "worker.env"), "WORKER_METRICS_PORT=9200\n");
  const units = new Units(new Host({}), new Installation({ SHORTHOP_CONFIG_DIR: dir }));
  const names = ["shorthop-api@2.service", "shorthop-redirector@1.service", WORKER];
  expect(names.map((unit) => units.addressOf(unit))).toEqual([
    { host: "10.0.0.1", port: 9512 },
    { host: "127.0.0.1", port: 9111 },
    { host: "127.0.0.1", port: 9200 },
  ]);
  rmSync(dir, { recursive: true });
});
