/** Goal: a fresh host gets the configuration of a backup, and one that has its own keeps it. */
import { beforeEach, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { dirForEach } from "../../../test/harness/for-file.ts";
import { packConfiguration } from "../backup/backup.ts";
import { nameOf, writeManifest } from "../backup/manifest.ts";
import { Directory } from "../backup/storage.ts";
import { Host, type Output } from "../host.ts";
import { configurationStep, dataStep, readBackedUp } from "./restore.ts";
import { Mask } from "./secrets.ts";
import { runSteps } from "./step.ts";

const NAME = nameOf(new Date(0));

const dir = dirForEach("shorthop-restore-");
let place: string;
let host: Host;

beforeEach(() => {
  place = join(dir(), "backups");
  mkdirSync(join(dir(), "root/etc/shorthop"), { recursive: true });
  mkdirSync(join(dir(), "before/nats"), { recursive: true });
  host = new Host(process.env, join(dir(), "root"));
});

/** Backs up a configuration with these files, all of mode 0600. */
async function backUp(files: Record<string, string>): Promise<void> {
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(dir(), "before", name), content, { mode: 0o600 });
  const storage = new Directory(place);
  await writeManifest(storage, NAME, {
    made_at: new Date(0).toISOString(),
    postgres: { file: { name: "none", bytes: 0, sha256: "0".repeat(64) }, migration: 1, rows: {} },
    clicks: null,
    rollups: [],
    failures: [],
    configuration: await packConfiguration(storage, NAME, join(dir(), "before")),
  });
}

const OWN = {
  "secrets.env": "VISITOR_SECRET=kept\n",
  "setup.env": "DOMAIN=go.shorthop.dev\nROLE=stores\n",
};

const bringBack = async (): Promise<number> => {
  const backedUp = await readBackedUp(place, {});
  return await runSteps([configurationStep(backedUp, host, new Mask({}))], {
    dryRun: false,
    print: () => undefined,
  });
};

const pathOf = (name: string): string => join(dir(), "root/etc/shorthop", name);

test("settings and secrets are values, and the other files are written with their modes", async () => {
  await backUp({ ...OWN, "api.env": "LOG_LEVEL=debug\n", "nats/server.conf": "server_name: a\n" });
  chmodSync(join(dir(), "before/nats/server.conf"), 0o640);
  await backUp({});
  expect((await readBackedUp(place, {})).values).toEqual({
    VISITOR_SECRET: "kept",
    DOMAIN: "go.shorthop.dev",
    ROLE: "stores",
  });
  expect(await bringBack()).toBe(2);
  expect(readFileSync(pathOf("api.env"), "utf8")).toBe("LOG_LEVEL=debug\n");
  expect(statSync(pathOf("api.env")).mode & 0o777).toBe(0o600);
  expect(statSync(pathOf("nats/server.conf")).mode & 0o777).toBe(0o640);
  // The step of settings and secrets writes these.
  expect(existsSync(pathOf("secrets.env"))).toBe(false);
  // A run that was killed before that begins again, and finds nothing to do.
  expect(await bringBack()).toBe(0);
});

test("a host that has secrets keeps its configuration", async () => {
  await backUp({ ...OWN, "api.env": "LOG_LEVEL=debug\n" });
  writeFileSync(pathOf("secrets.env"), "VISITOR_SECRET=own\n");
  writeFileSync(pathOf("api.env"), "LOG_LEVEL=info\n");
  expect(await bringBack()).toBe(0);
  expect(readFileSync(pathOf("api.env"), "utf8")).toBe("LOG_LEVEL=info\n");
});

test("a backup without settings or secrets of setup is refused", async () => {
  await backUp({ "api.env": "LOG_LEVEL=debug\n", "setup.env": OWN["setup.env"] });
  expect(readBackedUp(place, {})).rejects.toThrow("has no /etc/shorthop/setup.env and");
});

test("data is restored where there is no account, and never where there is one", async () => {
  await backUp(OWN);
  const backedUp = await readBackedUp(place, {});
  for (const hasAccount of [true, false]) {
    const commands: string[] = [];
    let restored = hasAccount;
    class FakeHost extends Host {
      override psql(): Promise<Output> {
        return Promise.resolve({ code: 0, stdout: restored ? "t\n" : "f\n", stderr: "" });
      }
      override run(command: readonly string[]): Promise<Output> {
        commands.push(command.join(" "));
        restored = true;
        return Promise.resolve({ code: 0, stdout: "api:\n{}\nlinks\t1 of 1\n", stderr: "" });
      }
    }
    const step = dataStep(backedUp, new FakeHost({}), (counts) => commands.push(counts));
    await runSteps([step], { dryRun: false, print: () => undefined });
    expect(commands).toEqual(
      hasAccount ? [] : [`shorthop restore --from ${place}`, "links\t1 of 1\n"],
    );
  }
});
