/** The operator's command line, on a stack's database. */
import type { Stack } from "./stack.ts";

export type CommandResult = { code: number; stdout: string; stderr: string };

/** Runs a command, with further variables in `env`; returns its exit code and output. */
export async function runAdmin(
  stack: Stack,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<CommandResult> {
  const child = Bun.spawn([process.execPath, "api/cli/main.ts", ...args], {
    cwd: stack.root,
    env: { ...process.env, DATABASE_URL: "", SHORTHOP_DATA_DIR: stack.dataDir, ...env },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}

/** Runs a command with `--json` that must succeed; returns the parsed output. */
export async function admin<Result>(stack: Stack, args: readonly string[]): Promise<Result> {
  const { code, stdout, stderr } = await runAdmin(stack, [...args, "--json"]);
  if (code !== 0) throw new Error(`shorthop admin ${args.join(" ")}: ${stderr}`);
  return JSON.parse(stdout);
}

export type NewAccount = { id: string; plan: string; key: string };
export type NewKey = { id: string; key: string };

/** Creates an account with a key that has every scope. */
export const createAccount = (stack: Stack, plan: string, limits?: unknown): Promise<NewAccount> =>
  admin<NewAccount>(stack, [
    "accounts",
    "create",
    "--name",
    `Account on ${plan}`,
    "--plan",
    plan,
    ...(limits === undefined ? [] : ["--limits", JSON.stringify(limits)]),
    "--key",
  ]);

/** Creates a key in an account. */
export const createKey = (
  stack: Stack,
  account: string,
  scopes: string,
  { type = "live", more = [] }: { type?: "live" | "test"; more?: string[] } = {},
): Promise<NewKey> =>
  admin<NewKey>(stack, [
    "keys",
    "create",
    "--account",
    account,
    "--name",
    "created by a test",
    "--type",
    type,
    "--scopes",
    scopes,
    ...more,
  ]);
