/** This machine as setup and an upgrade see it: its files below a root, its programs and units. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { METRICS_PORTS as API_PORTS } from "../../api/config.ts";
import { describeUnready, readHealthAt } from "../../shared/preflight.ts";
import type { Env, Installation } from "../installation.ts";

/** Of a program that ran to its end. */
export type Output = { code: number; stdout: string; stderr: string };

type Surroundings = {
  /** Standard input; secrets are passed here, never as arguments, which every user can see. */
  input?: string;
  /** Variables beside those of this process. */
  env?: Env;
};

const NOT_FOUND = 127;

/** Of what a program said before it failed. */
const LAST_LINES = 5;

/** So that psql prints rows only, one per line, and stops at an error. */
const PSQL_OPTIONS = ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"];
const STOP_AT_ERRORS = "\\set ON_ERROR_STOP on\n";

/** Connects to a database as a superuser of the PostgreSQL on this host. */
const psqlAsSuperuser = (database: string): string[] =>
  `runuser --user=postgres -- psql --dbname=${database}`.split(" ");

export class Host {
  readonly #env: Env;
  readonly #root: string;
  readonly #psqlOf: (database: string) => string[];

  /** Programs run in `env`; another root, and another way to PostgreSQL, are those of tests. */
  constructor(env: Env, root = "/", psqlOf = psqlAsSuperuser) {
    this.#env = env;
    this.#root = root;
    this.#psqlOf = psqlOf;
  }

  /** The path of a file of this host: `/etc/shorthop`, below another root in tests. */
  path(path: string): string {
    return join(this.#root, path);
  }

  /** Returns a file's text, or undefined when it does not exist. */
  readFile(path: string): string | undefined {
    const real = this.path(path);
    return existsSync(real) ? readFileSync(real, "utf8") : undefined;
  }

  /** Runs a program. A program that does not exist has the exit code 127. */
  async run(command: readonly string[], { input, env }: Surroundings = {}): Promise<Output> {
    const [program = ""] = command;
    if (Bun.which(program) === null)
      return { code: NOT_FOUND, stdout: "", stderr: `${program} is not installed` };
    const child = Bun.spawn([...command], {
      stdin: input === undefined ? "ignore" : new Blob([input]),
      stdout: "pipe",
      stderr: "pipe",
      env: { ...this.#env, ...env },
      // A directory that every user may enter.
      cwd: "/",
    });
    const [stdout, stderr, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    return { code, stdout, stderr };
  }

  /** Runs a program and returns what it printed; throws with its last words when it fails. */
  async read(command: readonly string[], surroundings?: Surroundings): Promise<string> {
    return succeed(command.slice(0, 2).join(" "), await this.run(command, surroundings));
  }

  /** Runs a program that prints for the operator. Throws when it fails. */
  async show(command: readonly string[]): Promise<void> {
    const child = Bun.spawn([...command], {
      stdio: ["ignore", "inherit", "inherit"],
      env: this.#env,
    });
    if ((await child.exited) !== 0) throw new Error(`${command.join(" ")} failed.`);
  }

  /** Runs `psql` on statements, in a database, as a superuser. */
  psql(database: string, statements: string): Promise<Output> {
    const command = [...this.#psqlOf(database), ...PSQL_OPTIONS];
    return this.run(command, { input: STOP_AT_ERRORS + statements });
  }
}

/** Returns what a program printed; throws with its last words when it has failed. */
export function succeed(name: string, { code, stdout, stderr }: Output): string {
  if (code === 0) return stdout;
  const words = (stderr.trim() || stdout.trim()).split("\n").slice(-LAST_LINES).join("\n");
  throw new Error(`${name} failed (${code}): ${words}`);
}

export const WORKER = "shorthop-worker.service";

const PATTERNS = ["shorthop-redirector@*.service", "shorthop-api@*.service", WORKER];

/** The metrics ports of the processes; those of instances are further by their numbers. */
const PORTS: Record<string, number> = {
  api: API_PORTS.instances,
  redirector: 9110,
  worker: 9103,
};

/** Time in which a process that was started becomes ready: it may read all links first. */
const READY_MS = 180_000;
const POLL_MS = 500;

/** The systemd units of this host, and whether they are ready. */
export class Units {
  readonly #host: Host;
  readonly #installation: Installation;

  constructor(host: Host, installation: Installation) {
    this.#host = host;
    this.#installation = installation;
  }

  async listRunning(): Promise<string[]> {
    const options = ["--plain", "--no-legend", "--state=active"];
    const lines = await this.#host.read(["systemctl", "list-units", ...options, ...PATTERNS]);
    return lines.split("\n").flatMap((line) => line.split(" ")[0] || []);
  }

  /** Waits until units are ready. Throws an error that names those that are not in time. */
  async waitUntilReady(units: readonly string[]): Promise<void> {
    const deadline = performance.now() + READY_MS;
    for (;;) {
      const unready = await this.listUnready(units);
      if (unready.length === 0) return;
      if (performance.now() > deadline)
        throw new Error(`Not ready: ${unready.join("; ")}. shorthop doctor says more.`);
      await Bun.sleep(POLL_MS);
    }
  }

  /** What units lack to be ready, a line for each that is not. */
  async listUnready(units: readonly string[]): Promise<string[]> {
    const lines = await Promise.all(units.map((unit) => this.#findProblem(unit)));
    return lines.filter((line) => line !== undefined);
  }

  async #findProblem(unit: string): Promise<string | undefined> {
    const { host, port } = this.addressOf(unit);
    const health = await readHealthAt(host, port);
    if (health === undefined) return `${unit} does not respond`;
    const unready = describeUnready(health);
    return unready === undefined ? undefined : `${unit}: ${unready}`;
  }

  /** The address of a unit's metrics, as its environment file says. */
  addressOf(unit: string): { host: string; port: number } {
    const [, name = "", instance] = /^shorthop-([a-z]+)(?:@(\d+))?/.exec(unit) ?? [];
    const variables = this.#installation.read(name);
    const prefix = name.toUpperCase();
    const port = variables[`${prefix}_METRICS_PORT`] || (PORTS[name] ?? 0) + Number(instance ?? 0);
    return { host: variables[`${prefix}_METRICS_HOST`] || "127.0.0.1", port: Number(port) };
  }
}
