/** This machine as setup and an upgrade see it: its files below a root, and its programs. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { Env } from "../installation.ts";

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
