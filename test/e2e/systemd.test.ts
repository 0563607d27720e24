/**
 * Goal: the systemd units are valid and confined, and configuration examples and documents are
 * complete.
 */
import { expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import * as z from "zod";

import { parseEnvironment } from "../../cli/installation.ts";
import { publicKeyOf } from "../../shared/links-log/signature.ts";
import { readBlocks } from "../boot/install.ts";
import { SIGNING_KEY } from "../harness/links-log.ts";
import { PROJECT_DIR } from "../harness/stack.ts";

const UNITS = join(PROJECT_DIR, "deploy/systemd");
const EXPOSURE_MAX = 3;

const hasSystemd = Bun.which("systemd-analyze") !== null;
if (!hasSystemd) console.warn("\n!!! systemd-analyze is not installed: the units are NOT TESTED\n");

test.skipIf(!hasSystemd)("the systemd units are valid, with a low exposure level", () => {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-units-"));
  cpSync(UNITS, dir, { recursive: true });
  mkdirSync(join(dir, "bin"));
  const services = readdirSync(dir).filter((name) => name.endsWith(".service"));
  expect(services).toHaveLength(8);
  for (const name of services) {
    // The executables are not installed on this machine.
    const path = join(dir, name);
    writeFileSync(
      path,
      readFileSync(path, "utf8").replaceAll(/\/opt\/shorthop\/bin\/\S+/g, "/bin/true"),
    );
  }
  const others = readdirSync(dir).filter((name) => /\.(path|target|timer)$/.test(name));
  expect(others).toHaveLength(6);
  const instances = [...services, ...others].map((name) => join(dir, name.replace("@.", "@1.")));
  const verified = Bun.spawnSync(["systemd-analyze", "verify", ...instances]);
  expect(verified.stderr.toString()).toBe("");
  expect(verified.exitCode).toBe(0);
  // shorthop-tls restarts units, for which it is root.
  for (const name of services.filter((service) => service !== "shorthop-tls.service")) {
    const { stdout } = Bun.spawnSync([
      "systemd-analyze",
      "security",
      "--offline=true",
      join(dir, name),
    ]);
    const [, level = "10"] =
      /Overall exposure level for \S+: ([\d.]+)/.exec(stdout.toString()) ?? [];
    console.log(`${name}: exposure ${level}`);
    expect(Number(level)).toBeLessThanOrEqual(EXPOSURE_MAX);
  }
  rmSync(dir, { recursive: true });
});

test("every variable of the example configurations exists in its process's schema", async () => {
  for (const name of ["api", "worker", "redirector"]) {
    const { configSchema } = await import(join(PROJECT_DIR, name, "config.ts"));
    const text = readFileSync(join(UNITS, `${name}.env`), "utf8");
    const env = Object.fromEntries(
      [...text.matchAll(/^#?([A-Z_]+)=(.*)$/gm)].map(([, key = "", value = ""]) => [key, value]),
    );
    const keys = { LINKS_SIGNING_KEY: SIGNING_KEY, LINKS_PUBLIC_KEYS: publicKeyOf(SIGNING_KEY) };
    const journal = name === "redirector" ? { JOURNAL_DIR: "/var/lib/x" } : {};
    expect(configSchema.safeParse({ ...env, ...keys, ...journal }).error?.issues ?? []).toEqual([]);
    const known = Object.keys(configSchema.shape ?? configSchema.def.in?.shape ?? {});
    expect(Object.keys(env).filter((key) => !known.includes(key))).toEqual([]);
  }
});

test("the example configuration of migrations has what both schemas need", async () => {
  const variables = parseEnvironment(readFileSync(join(UNITS, "migrate.env"), "utf8"));
  for (const name of ["api", "worker"]) {
    const { migrateConfigSchema } = await import(join(PROJECT_DIR, name, "config.ts"));
    expect(migrateConfigSchema.safeParse(variables).error?.issues ?? []).toEqual([]);
  }
});

const ON_ONE_MACHINE = [
  "boot/*.ts",
  "scenarios/boot.test.ts",
  "scenarios/boot-setup.test.ts",
].flatMap((pattern) => [...new Bun.Glob(`test/${pattern}`).scanSync(PROJECT_DIR)]);
const THREE_MACHINES = "test/scenarios/boot-three-machines.test.ts";

test.each([
  ["docs/operations.md", ON_ONE_MACHINE, []],
  ["docs/installing-by-hand.md", ON_ONE_MACHINE, ["clickhouse-manual"]],
  ["docs/three-machines.md", [THREE_MACHINES], ["clickhouse-manual"]],
])(
  "the commands of %s are valid shell, and all but those of ClickHouse are run by the scenarios of boots",
  (path, names, unrun) => {
    const blocks = readBlocks(join(PROJECT_DIR, path));
    const sources = names.map((name) => readFileSync(join(PROJECT_DIR, name), "utf8"));
    const untested: string[] = [];
    for (const [name, script] of blocks) {
      expect([name, Bun.spawnSync(["bash", "-n", "-c", script]).exitCode]).toEqual([name, 0]);
      if (!sources.some((text) => text.includes(`"${name}"`))) untested.push(name);
    }
    expect(untested).toEqual(unrun);
  },
);

test("docs/configuration.md lists exactly the variables that each process reads", async () => {
  const reference = readFileSync(join(PROJECT_DIR, "docs/configuration.md"), "utf8");
  const common = listVariables(reference, "All processes");
  for (const name of ["api", "worker", "redirector"]) {
    const { configSchema } = await import(join(PROJECT_DIR, name, "config.ts"));
    const read = Object.keys(configSchema.shape ?? configSchema.def.in?.shape ?? {});
    const documented = new Set([...common, ...listVariables(reference, name)]);
    expect(read.filter((variable) => !documented.has(variable))).toEqual([]);
    const own = listVariables(reference, name);
    expect(own.filter((variable) => !read.includes(variable))).toEqual([]);
  }
});

test("the compose file contains every process with its required settings", () => {
  const text = readFileSync(join(PROJECT_DIR, "deploy/docker/compose.yaml"), "utf8");
  const { services, volumes } = composeFile.parse(Bun.YAML.parse(text));
  for (const name of ["api", "worker", "redirector"]) {
    const service = services[name];
    expect(service?.command).toEqual([`shorthop-${name}`]);
    expect(Object.keys(service?.environment ?? {})).toContain("NATS_URL");
    expect(service?.read_only).toBe(true);
  }
  // Each variable is in the example, and those without a default have a line to fill in.
  const example = readFileSync(join(PROJECT_DIR, "deploy/docker/example.env"), "utf8");
  const required = new Set([...text.matchAll(/\$\{([A-Z_]+):\?\}/g)].map(([, key = ""]) => key));
  const optional = new Set([...text.matchAll(/\$\{([A-Z_]+):-/g)].map(([, key = ""]) => key));
  expect(new Set([...example.matchAll(/^([A-Z_]+)=$/gm)].map(([, key = ""]) => key))).toEqual(
    required,
  );
  expect(new Set([...example.matchAll(/^#([A-Z_]+)=/gm)].map(([, key = ""]) => key))).toEqual(
    optional,
  );
  for (const { volumes: used = [] } of Object.values(services)) {
    for (const volume of used) {
      const [source = ""] = volume.split(":");
      const known = source.startsWith(".")
        ? existsSync(join(PROJECT_DIR, "deploy/docker", source))
        : Object.hasOwn(volumes, source);
      expect([volume, known]).toEqual([volume, true]);
    }
  }
});

const composeFile = z.object({
  services: z.record(
    z.string(),
    z.object({
      command: z.array(z.string()).optional(),
      environment: z.record(z.string(), z.string()).optional(),
      read_only: z.boolean().optional(),
      volumes: z.array(z.string()).optional(),
    }),
  ),
  volumes: z.record(z.string(), z.unknown()),
});

/** Lists the variables in the tables of a section. */
function listVariables(reference: string, title: string): string[] {
  const [, text = ""] = reference.split(`\n## ${title}\n`);
  const [section = ""] = text.split("\n## ");
  return [...section.matchAll(/^\| (`[^|]*)\|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`([A-Z0-9_]+)`/g)].map(([, variable = ""]) => variable),
  );
}
