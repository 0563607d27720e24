/** This host, as setup sees it: its files below a root, and its programs. */
import { join } from "node:path";

/** Of a program that ran to its end. */
export type Output = { code: number; stdout: string; stderr: string };

type RunOptions = {
  /** Standard input; secrets are passed here, never as arguments, which every user can see. */
  input?: string;
  /** Variables beside those of this process. */
  env?: Record<string, string | undefined>;
};

export type System = {
  /** Returns the path of a file of this host: `/etc/shorthop`, below another root in tests. */
  path: (path: string) => string;
  /** Runs a program. A program that does not exist has the exit code 127. */
  run: (command: readonly string[], options?: RunOptions) => Promise<Output>;
  /** Runs `psql` as a superuser of the PostgreSQL on this host, in a database, on statements. */
  psql: (database: string, statements: string) => Promise<Output>;
};

const NOT_FOUND = 127;

/** So that psql prints rows only, one per line, and stops at an error. */
const PSQL_OPTIONS = ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"];
const STOP_AT_ERRORS = "\\set ON_ERROR_STOP on\n";

/** Runs a program with this environment; without one, with that of this process. */
async function run(command: readonly string[], { input, env }: RunOptions = {}): Promise<Output> {
  const [program = ""] = command;
  if (Bun.which(program) === null)
    return { code: NOT_FOUND, stdout: "", stderr: `${program} is not installed` };
  const child = Bun.spawn([...command], {
    stdin: input === undefined ? "ignore" : new Blob([input]),
    stdout: "pipe",
    stderr: "pipe",
    ...(env === undefined ? {} : { env }),
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

/** The host itself; `psqlOf` returns the command that connects to a database. */
export function openSystem(
  root = "/",
  psqlOf = (database: string) => [
    "runuser",
    "--user",
    "postgres",
    "--",
    "psql",
    "--dbname",
    database,
  ],
  base?: Record<string, string | undefined>,
): System {
  const runWith: System["run"] = (command, { input, env } = {}) =>
    run(command, {
      ...(input === undefined ? {} : { input }),
      ...(base === undefined && env === undefined ? {} : { env: { ...base, ...env } }),
    });
  return {
    path: (path) => join(root, path),
    run: runWith,
    psql: (database, statements) =>
      runWith([...psqlOf(database), ...PSQL_OPTIONS], { input: STOP_AT_ERRORS + statements }),
  };
}

/** Runs a program and returns what it printed; throws with its last words when it fails. */
export async function mustRun(
  system: System,
  command: readonly string[],
  options?: RunOptions,
): Promise<string> {
  return succeed(command.slice(0, 2).join(" "), await system.run(command, options));
}

/** Returns what a program printed; throws with its last words when it has failed. */
export function succeed(name: string, { code, stdout, stderr }: Output): string {
  if (code === 0) return stdout;
  const words = (stderr.trim() || stdout.trim()).split("\n").slice(-LAST_LINES).join("\n");
  throw new Error(`${name} failed (${code}): ${words}`);
}

const LAST_LINES = 5;
