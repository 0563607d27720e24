/** Goal: systemd takes the units as they are, and finds them well fenced in. */
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

import { PROJECT_DIR } from "../harness/stack.ts";

const UNITS = join(PROJECT_DIR, "deploy/systemd");
const EXPOSURE_MAX = 3;

const present = Bun.which("systemd-analyze") !== null;
if (!present) console.warn("\n!!! systemd-analyze is not here: the units are NOT TESTED\n");

test.skipIf(!present)("units are sound, and exposed little", () => {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-units-"));
  cpSync(UNITS, dir, { recursive: true });
  mkdirSync(join(dir, "bin"));
  const services = readdirSync(dir).filter((name) => name.endsWith(".service"));
  expect(services).toHaveLength(3);
  for (const name of services) {
    // The executables are not installed here.
    const path = join(dir, name);
    writeFileSync(
      path,
      readFileSync(path, "utf8").replaceAll(/\/opt\/shorthop\/bin\/\S+/g, "/bin/true"),
    );
  }
  const instances = services.map((name) => join(dir, name.replace("@.", "@1.")));
  const verified = Bun.spawnSync([
    "systemd-analyze",
    "verify",
    ...instances,
    join(dir, "shorthop.target"),
  ]);
  expect(verified.stderr.toString()).toBe("");
  expect(verified.exitCode).toBe(0);
  for (const name of services) {
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

test("every variable of the example configurations is one that its process knows", async () => {
  for (const name of ["api", "worker", "redirector"]) {
    const { configSchema } = await import(join(PROJECT_DIR, name, "config.ts"));
    const text = readFileSync(join(UNITS, `${name}.env`), "utf8");
    const env = Object.fromEntries(
      [...text.matchAll(/^#?([A-Z_]+)=(.*)$/gm)].map(([, key = "", value = ""]) => [key, value]),
    );
    const journal = name === "redirector" ? { JOURNAL_DIR: "/var/lib/x" } : {};
    expect(configSchema.safeParse({ ...env, ...journal }).error?.issues ?? []).toEqual([]);
    const known = Object.keys(configSchema.shape ?? configSchema.def.in?.shape ?? {});
    expect(Object.keys(env).filter((key) => !known.includes(key))).toEqual([]);
  }
});

test("every variable that a process reads is in the reference, and no other", async () => {
  const reference = readFileSync(join(PROJECT_DIR, "docs/configuration.md"), "utf8");
  const common = sectionOf(reference, "All processes");
  for (const name of ["api", "worker", "redirector"]) {
    const { configSchema } = await import(join(PROJECT_DIR, name, "config.ts"));
    const read = Object.keys(configSchema.shape ?? configSchema.def.in?.shape ?? {});
    const documented = new Set([...common, ...sectionOf(reference, name)]);
    expect(read.filter((variable) => !documented.has(variable))).toEqual([]);
    const own = sectionOf(reference, name);
    expect(own.filter((variable) => !read.includes(variable))).toEqual([]);
  }
});

test("the compose file has every process, with what it must be told", () => {
  const text = readFileSync(join(PROJECT_DIR, "deploy/docker/compose.yaml"), "utf8");
  const { services, volumes } = composeFile.parse(Bun.YAML.parse(text));
  for (const name of ["api", "worker", "redirector"]) {
    const service = services[name];
    expect(service?.command).toEqual([`shorthop-${name}`]);
    expect(Object.keys(service?.environment ?? {})).toContain("NATS_URL");
    expect(service?.read_only).toBe(true);
  }
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

/** The variables in the tables of a section. */
function sectionOf(reference: string, title: string): string[] {
  const [, text = ""] = reference.split(`\n## ${title}\n`);
  const [section = ""] = text.split("\n## ");
  return [...section.matchAll(/^\| (`[^|]*)\|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`([A-Z_]+)`/g)].map(([, variable = ""]) => variable),
  );
}
