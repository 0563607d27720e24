/** The operator's command line, on a stack's database. */
import type { Stack } from "./stack.ts";
import { PROJECT_DIR } from "./stack.ts";

export type Ran = { code: number; out: string; problem: string };

/** Runs a command and gives what it printed. */
export async function runAdmin(stack: Stack, args: readonly string[]): Promise<Ran> {
  const child = Bun.spawn([process.execPath, "api/admin/main.ts", ...args], {
    cwd: PROJECT_DIR,
    env: { ...process.env, DATABASE_URL: "", SHORTHOP_DATA_DIR: stack.dataDir },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, problem, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, out, problem };
}

/** Runs a command that must succeed, with `--json`, and gives the parsed result. */
export async function admin<Result>(stack: Stack, args: readonly string[]): Promise<Result> {
  const { code, out, problem } = await runAdmin(stack, [...args, "--json"]);
  if (code !== 0) throw new Error(`shorthop admin ${args.join(" ")}: ${problem}`);
  return JSON.parse(out);
}

export type NewAccount = { id: string; plan: string; key: string };
export type NewKey = { id: string; key: string };

/** Opens an account with a key of every scope. */
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

/** Makes a key in an account. */
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
    "made for a test",
    "--type",
    type,
    "--scopes",
    scopes,
    ...more,
  ]);
