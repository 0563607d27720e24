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
async function upgradeOn(situation: Situation, files = ["shorthop.deb", "shorthop-api.deb"]) {
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
  const said: string[] = [];
  const outcome = await upgrade
    .run(files, (line) => said.push(line))
    .then(
      () => "done",
      (error: Error) => error.message,
    );
  rmSync(dir, { recursive: true, force: true });
  return { outcome, ran, said: said.join("\n") };
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

test("a backup comes first, then the executable, the schemas, the processes, the worker", async () => {
  expect(await upgradeOn({})).toMatchObject({ outcome: "done", ran: REPLACED });
});

test("a host without migrate.env neither backs up nor migrates", async () => {
  const { outcome, ran } = await upgradeOn({ migrates: false });
  expect(outcome).toBe("done");
  expect(ran).toEqual(REPLACED.filter((line) => !/backup|migrate|grant/.test(line)));
});

test.each([
  ["/usr/bin/shorthop migrate", 4],
  ["install shorthop-api.deb", 6],
])("when %p fails, the programs are put back", async (failing, steps) => {
  const { outcome, ran } = await upgradeOn({ failing });
  expect(ran).toEqual([...REPLACED.slice(0, steps), ...PUT_BACK]);
  expect(outcome).toBe("The upgrade to 2.0 failed; 1.0 runs again. Schemas stay as they are.");
});

test("when the new processes do not become ready, the programs are put back", async () => {
  const { outcome, ran, said } = await upgradeOn({ ready: [true, false] });
  expect(ran).toEqual([...REPLACED, ...PUT_BACK]);
  expect(outcome).toContain("1.0 runs again");
  expect(said).toContain("Not ready: shorthop-api@1.service.");
});

test("what is not ready before is not upgraded", async () => {
  const { outcome, ran } = await upgradeOn({ ready: [false] });
  expect([ran, outcome]).toEqual([[], "Not ready: shorthop-api@1.service."]);
});

test("when a backup fails, nothing is changed", async () => {
  const { outcome, ran } = await upgradeOn({ failing: "shorthop backup" });
  expect([ran, outcome]).toEqual([
    ["/usr/bin/shorthop backup"],
    expect.stringContaining("backup failed"),
  ]);
});

test.each([
  ["files of several versions", {}, { "shorthop-api.deb": "3.0" }, "several versions"],
  [
    "a version that is not later",
    {},
    { "shorthop.deb": "1.0", "shorthop-api.deb": "1.0" },
    "not later than 1.0",
  ],
  [
    "a release without an installed package",
    { installed: ["shorthop", "shorthop-worker"] },
    {},
    "lacks installed packages: shorthop-worker",
  ],
])("%s is rejected before anything is done", async (_, host, versions, reason) => {
  const { outcome, ran } = await upgradeOn({ ...host, versions });
  expect([ran, outcome]).toEqual([[], expect.stringContaining(reason)]);
});

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
