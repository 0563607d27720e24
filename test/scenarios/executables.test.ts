/**
 * Goal: the shipped executables start and serve without the project's other files; the clients are
 * packed beside them.
 */
import { describe, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import * as z from "zod";

import { findFreePort } from "../../deploy/local/ports.ts";
import { packClients } from "../../deploy/pack-clients.ts";
import { publicKeyOf } from "../../shared/links-log/signature.ts";
import { findingSchema } from "../../shared/preflight.ts";
import { version } from "../../shared/version.ts";
import { call, linkSchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { dirForFile, forFile } from "../harness/for-file.ts";
import { SIGNING_KEY } from "../harness/links-log.ts";
import { PROJECT_DIR, startStack } from "../harness/stack.ts";

const START_MS = 20_000;

/** Each executable has the runtime in it, of 100 MiB. */
const EXECUTABLE_BYTES_MAX = 130 * 1024 ** 2;

const stack = await forFile(startStack());
const dir = dirForFile("shorthop-empty-");
const children: Bun.Subprocess[] = await forFile([], async (all: Bun.Subprocess[]) => {
  for (const child of all) child.kill("SIGTERM");
  await Promise.all(all.map((child) => child.exited));
});

function run(command: string[], cwd = dir, env: Record<string, string> = {}) {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, {
    cwd,
    env: { ...cleanEnv(), ...env },
  });
  if (exitCode !== 0)
    throw new Error(`${command.join(" ")}:\n${stdout.toString()}${stderr.toString()}`);
  return stdout.toString();
}

/** An environment without paths to this project. */
const cleanEnv = () => ({ PATH: "/usr/bin:/bin", HOME: dir });

run([process.execPath, join(PROJECT_DIR, "deploy/build.ts"), "--only-binaries"], PROJECT_DIR);
for (const folder of ["bin", "dashboard"])
  cpSync(join(PROJECT_DIR, "dist", folder), join(dir, folder), {
    recursive: true,
    verbatimSymlinks: true,
  });
rmSync(join(PROJECT_DIR, "dist"), { recursive: true });

const environment = () => {
  const { database_url, nats_url, clickhouse_url, ...info } = stack.info();
  const key = info.links_signing_key ?? SIGNING_KEY;
  return {
    DATABASE_URL: database_url,
    NATS_URL: nats_url,
    CLICKHOUSE_URL: clickhouse_url,
    SHORT_URL: "http://localhost:1",
    SHORT_HOSTS: "localhost,127.0.0.1",
    VISITOR_HASH_SECRET: "secret of this test",
    LINKS_SIGNING_KEY: key,
    LINKS_PUBLIC_KEYS: publicKeyOf(key),
    JOURNAL_DIR: join(dir, "journal"),
    API_METRICS_PORT: "0",
    REDIRECTOR_METRICS_PORT: "0",
    WORKER_METRICS_PORT: "0",
    API_HOST: "127.0.0.1",
    API_PORT: "0",
    REDIRECTOR_HOST: "127.0.0.1",
    REDIRECTOR_PORT: "0",
    ALLOW_PRIVATE_TARGETS: "true",
  };
};

/** Starts an executable; returns the log line that says where it listens. */
async function start(
  name: string,
  env: Record<string, string> = {},
): Promise<{ url: string; internal_url: string }> {
  const child = Bun.spawn([join(dir, "bin", name)], {
    cwd: dir,
    env: { ...cleanEnv(), ...environment(), ...env },
    stdout: "pipe",
    stderr: "inherit",
  });
  children.push(child);
  let text = "";
  void (async () => {
    for await (const part of child.stdout) text += new TextDecoder().decode(part);
  })();
  return await eventually(async () => {
    const line = text.split("\n").find((one) => one.includes('"listening"'));
    if (line === undefined) throw new Error(`${name} has not started:\n${text}`);
    return JSON.parse(line);
  }, START_MS);
}

describe("the executables", () => {
  test("print their version, and need no other files", () => {
    for (const name of ["shorthop", "shorthop-api", "shorthop-redirector", "shorthop-worker"]) {
      expect(run([join(dir, "bin", name), "--version"]).trim()).toBe(version);
    }
    for (const process of ["api", "redirector", "worker"]) {
      expect(run([join(dir, "bin/shorthop"), process, "--version"]).trim()).toBe(version);
      expect(run([join(dir, "bin/shorthop"), process, "--help"])).toContain("Other commands: ");
    }
    expect(existsSync(join(dir, "node_modules"))).toBe(false);
  });

  test("check a configuration, and name its errors", () => {
    const checked = run([join(dir, "bin/shorthop"), "config", "check"], dir, environment());
    expect(checked).toContain("ok\tCLICKHOUSE_URL");
    expect(checked).not.toContain("failed");
    expect(() =>
      run([join(dir, "bin/shorthop"), "config", "check"], dir, {
        ...environment(),
        NATS_URL: "nats://127.0.0.1:1",
        API_PORT: "many",
      }),
    ).toThrow(/API_PORT: must be a port number[^]*failed\tNATS_URL/);
  });

  test("migrate, serve, redirect and count clicks in an otherwise empty directory", async () => {
    run([join(dir, "bin/shorthop"), "migrate"], dir, environment());
    const api = await start("shorthop-api");
    const redirector = await start("shorthop-redirector");
    await start("shorthop-worker");
    const key = stack.info().api_key;
    const { body } = await call(`${api.url}/v1/links`, {
      key,
      body: { url: "https://example.com/executable" },
    });
    const link = linkSchema.parse(body);
    const { status, headers } = await call(`${redirector.url}/${link.alias}`);
    expect([status, headers.get("location")]).toEqual([302, "https://example.com/executable"]);
    await eventually(async () => {
      const { body: updated } = await call(`${api.url}/v1/links/${link.id}`, { key });
      expect(linkSchema.parse(updated).clicks).toBe(1);
    }, START_MS);
    // The documentation's assets are embedded as well.
    expect((await call(`${api.url}/docs/swagger-ui.js`)).status).toBe(200);
  });

  test("serve the dashboard to a user created on the command line", async () => {
    const port = findFreePort();
    const origin = `http://localhost:${port}`;
    await start("shorthop-api", {
      DASHBOARD_URL: origin,
      DASHBOARD_HOST: "127.0.0.1",
      DASHBOARD_PORT: String(port),
      DASHBOARD_SECRET: "thirty-two characters, or even more",
      DASHBOARD_DIR: join(dir, "dashboard"),
    });
    const create = ["users", "create", "--email", "shipped@example.com", "--name", "S", "--json"];
    const user = JSON.parse(run([join(dir, "bin/shorthop"), ...create], dir, environment()));
    expect((await call(`${origin}/`)).headers.get("content-type")).toContain("text/html");
    const response = await call(`${origin}/auth/sign-in`, {
      body: { email: "shipped@example.com", password: user.password },
      headers: { origin },
    });
    expect(response.status).toBe(200);
    expect(() =>
      run([join(dir, "bin/shorthop-api")], dir, { ...environment(), DASHBOARD_URL: origin }),
    ).toThrow("DASHBOARD_SECRET: must be set with DASHBOARD_URL");
  });

  test("together take the place of one", () => {
    const files = readdirSync(join(dir, "bin")).map((name) => lstatSync(join(dir, "bin", name)));
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    expect(bytes).toBeLessThan(EXECUTABLE_BYTES_MAX);
  });

  test("take the configuration of an installation from its files", () => {
    const etc = join(dir, "etc");
    mkdirSync(etc);
    const { DATABASE_URL, CLICKHOUSE_URL, ...others } = environment();
    const database = new URL(CLICKHOUSE_URL);
    database.pathname = "/created_by_migrate";
    const lines = Object.entries(others).map(([name, value]) => `${name}=${value}\n`);
    writeFileSync(join(etc, "redirector.env"), lines.join(""));
    writeFileSync(
      join(etc, "migrate.env"),
      `DATABASE_URL=${DATABASE_URL}\nCLICKHOUSE_URL=${database.href}\n`,
    );
    const shorthop = (...args: string[]) =>
      run([join(dir, "bin/shorthop"), ...args], dir, { SHORTHOP_CONFIG_DIR: etc });
    // Creates the database as well.
    shorthop("migrate");
    const checked = shorthop("config", "check");
    expect(checked).toContain("redirector:\nok\tconfiguration\nok\tNATS_URL");
    expect(checked).not.toContain("api:");
    writeFileSync(
      join(etc, "api.env"),
      "DATABASE_URL=postgres://shorthop_api:change-me@db/shorthop\n",
    );
    expect(() => shorthop("config", "check")).toThrow("DATABASE_URL: must not be the placeholder");
  });

  test("examine an installation, and name what is wrong with what to do", () => {
    const etc = join(dir, "examined");
    mkdirSync(etc);
    const { api_metrics_url, worker_metrics_url } = stack.info();
    const { DATABASE_URL, CLICKHOUSE_URL, ...others } = {
      ...environment(),
      API_METRICS_PORT: new URL(api_metrics_url).port,
      WORKER_METRICS_PORT: new URL(worker_metrics_url).port,
    };
    const write = (name: string, variables: Record<string, string>) =>
      writeFileSync(
        join(etc, `${name}.env`),
        Object.entries(variables)
          .map(([key, value]) => `${key}=${value}\n`)
          .join(""),
      );
    const doctor = () => {
      const env = { ...cleanEnv(), SHORTHOP_CONFIG_DIR: etc };
      const command = [join(dir, "bin/shorthop"), "doctor", "--json"];
      const { exitCode, stdout } = Bun.spawnSync(command, { cwd: dir, env });
      const findings = z.array(findingSchema.extend({ subject: z.string() }));
      return {
        exitCode,
        problems: findings
          .parse(JSON.parse(stdout.toString()))
          .filter(({ status }) => status !== "ok")
          .map(({ subject, check, status, mend }) => `${status} ${subject}: ${check}, ${mend}`),
      };
    };
    write("migrate", { DATABASE_URL, CLICKHOUSE_URL });
    for (const name of ["api", "worker"]) write(name, { ...others, DATABASE_URL, CLICKHOUSE_URL });
    // The local stack has one user for everything.
    const healthy = doctor();
    expect(healthy.problems).toEqual([
      expect.stringMatching(/^warning api: role in PostgreSQL, Use shorthop_api/),
      expect.stringMatching(/^warning api: backups, Enable shorthop-backup.timer/),
      expect.stringMatching(/^warning worker: age of GeoIP databases, Enable shorthop-geoip.timer/),
    ]);
    expect(healthy.exitCode).toBe(0);
    const empty = new URL(CLICKHOUSE_URL);
    empty.pathname = "/nowhere";
    write("worker", {
      ...others,
      DATABASE_URL,
      CLICKHOUSE_URL: empty.href,
      VISITOR_HASH_SECRET: "change-me",
    });
    write("migrate", { DATABASE_URL: `${DATABASE_URL}-missing`, CLICKHOUSE_URL: empty.href });
    write("api", { ...others, DATABASE_URL, CLICKHOUSE_URL, NATS_REPLICAS: "3" });
    const broken = doctor();
    expect(broken.exitCode).toBe(1);
    for (const problem of [
      "failed host: secrets, Set secrets of your own",
      "failed migrate (api): DATABASE_URL, Use the user shorthop",
      "failed migrate (worker): schema of ClickHouse, Run shorthop migrate",
      "failed api: stream LINK_LOG, Run nats stream edit LINK_LOG --replicas 3",
      "failed worker: configuration, Correct the named variables",
    ])
      expect(broken.problems).toContainEqual(expect.stringContaining(problem));
  });

  test("report unknown commands and invalid settings without starting", () => {
    expect(() => run([join(dir, "bin/shorthop-api"), "sreve"])).toThrow('Unknown command "sreve"');
    expect(() => run([join(dir, "bin/shorthop-worker")])).toThrow(
      "VISITOR_HASH_SECRET: must be set",
    );
  });
});

/** In seconds. */
const BUILT_AT = "1700000000";

test("the clients' archives have the same bytes in each build, and the command line runs", async () => {
  const builds = [];
  for (const name of ["clients", "again"]) {
    const folder = join(dir, name);
    mkdirSync(folder);
    const files = await packClients(folder, BUILT_AT);
    expect(readdirSync(folder).toSorted()).toEqual(files.toSorted());
    builds.push(run(["sha256sum", ...files], folder));
  }
  expect(builds[1]).toBe(builds[0]);
  const cli = readdirSync(join(dir, "clients")).find((file) => file.startsWith("shorthop-cli-"));
  run(
    ["npm", "install", "--offline", "--silent", join(dir, "clients", cli ?? "")],
    join(dir, "again"),
  );
  expect(run([join(dir, "again/node_modules/.bin/shorthop"), "--version"]).trim()).toBe(version);
});
