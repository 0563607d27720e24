/** What operators do on the stores of a stack. */
import { accountLimits, AccountService, type Plan } from "../../api/accounts/service.ts";
import { KeyService } from "../../api/keys/service.ts";
import type { Sql } from "../../api/postgres.ts";
import { parseId, parseScopes } from "../../cli/arguments.ts";
import { encodeId } from "../../shared/ids.ts";
import { connectPrimary, withDatabase } from "../../shared/postgres.ts";
import { commandOf, runProgram } from "./executable.ts";
import type { SharedStack } from "./stack.ts";

const POOL = {
  max: 4,
  /** A test may create an account while the machine is busy with the start of a process. */
  connect_timeout: 30,
  idle_timeout: 2,
  onnotice: () => undefined,
};

/** Limits of an account that is used as often as a test wants. */
export const UNLIMITED = {
  minute: 10_000_000,
  burst: 10_000_000,
  day: 10_000_000,
  endpoints: {
    "POST /v1/links": 10_000_000,
    "POST /v1/domains": 10_000_000,
    "POST /v1/analytics/bulk": 10_000_000,
    "GET /v1/analytics/*": 10_000_000,
  },
};

export type CommandResult = { code: number; stdout: string; stderr: string };

/**
 * Runs a command of the command line, with further variables in `env`; returns its exit code and
 * output.
 */
export async function runAdmin(
  stack: SharedStack,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<CommandResult> {
  const child = Bun.spawn(await commandOf(args, stack.root), {
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
export async function admin<Result>(stack: SharedStack, args: readonly string[]): Promise<Result> {
  const { code, stdout, stderr } = await runAdmin(stack, [...args, "--json"]);
  if (code !== 0) throw new Error(`shorthop admin ${args.join(" ")}: ${stderr}`);
  return JSON.parse(stdout);
}

export type NewAccount = { id: string; plan: Plan; key: string };
export type NewKey = { id: string; key: string };

/**
 * Creates an account with a key that has every scope, as the command `accounts create --key` does,
 * but within this process: tests create hundreds.
 */
export const createAccount = (
  stack: SharedStack,
  plan: Plan,
  limits?: unknown,
): Promise<NewAccount> =>
  withPostgres(stack, async (sql) => {
    const accounts = new AccountService(sql);
    const id = await accounts.create(`Account on ${plan}`, plan, accountLimits.parse(limits ?? {}));
    const { key } = await new KeyService(sql).createFirst(id);
    return { id: encodeId("acct", id), plan, key };
  });

/** Creates a key in an account; `scopes` are separated by commas. */
export const createKey = (
  stack: SharedStack,
  account: string,
  scopes: string,
  { type = "live", expiresAt = null }: { type?: "live" | "test"; expiresAt?: Date | null } = {},
): Promise<NewKey> =>
  withPostgres(stack, async (sql) => {
    const { row, key } = await new KeyService(sql).createAny({
      accountId: parseId("acct")(account),
      name: "created by a test",
      mode: type,
      scopes: parseScopes(scopes),
      expiresAt,
    });
    return { id: encodeId("key", row.id), key };
  });

/** Revokes a key, as the command `keys revoke` does. */
export const revokeKey = (stack: SharedStack, key: string): Promise<boolean> =>
  withPostgres(stack, (sql) => new KeyService(sql).revokeAny(parseId("key")(key)));

/** Suspends an account, as `accounts suspend` does: for ever, or for minutes, with 0 no longer. */
export const suspendAccount = (
  stack: SharedStack,
  account: string,
  minutes?: number,
): Promise<boolean> =>
  withPostgres(stack, (sql) => new AccountService(sql).suspend(parseId("acct")(account), minutes));

/** Changes an account's plan, as `accounts set-plan` does. */
export const setPlan = (
  stack: SharedStack,
  account: string,
  plan: Plan,
  limits?: unknown,
): Promise<boolean> =>
  withPostgres(stack, (sql) =>
    new AccountService(sql).setPlan(
      parseId("acct")(account),
      plan,
      accountLimits.parse(limits ?? {}),
    ),
  );

/** Runs a statement in the ClickHouse at a URL; returns what it prints, without outer blanks. */
export async function runSql(
  clickhouseUrl: string,
  query: string,
  parameters: Readonly<Record<string, string>> = {},
): Promise<string> {
  const search = new URLSearchParams(parameters).toString();
  const response = await fetch(`${clickhouseUrl}/?${search}`, { method: "POST", body: query });
  const text = await response.text();
  if (!response.ok) throw new Error(`${query}: ${text}`);
  return text.trim();
}

/** Runs a statement in a stack's ClickHouse. */
export const runQuery = (
  stack: { info(): { clickhouse_url: string } },
  query: string,
  parameters: Readonly<Record<string, string>> = {},
): Promise<string> => runSql(stack.info().clickhouse_url, query, parameters);

/** The pools of the databases that this process has used, by their URLs. */
const pools = new Map<string, Sql>();

/** Runs `work` on the stack's database. */
export const withPostgres = <T>(stack: SharedStack, work: (sql: Sql) => Promise<T>): Promise<T> =>
  work(poolOf(stack.info().database_url));

/**
 * The pool of a database, whose connections close when they have been idle for a moment: to make
 * one costs the server more than most of what a test does on it.
 */
function poolOf(url: string): Sql {
  const pool = pools.get(url) ?? connectPrimary(url, POOL);
  pools.set(url, pool);
  return pool;
}

/** A stack with another database of its PostgreSQL in place of its own. */
const onDatabase = (stack: SharedStack, name: string): SharedStack => ({
  ...stack,
  info() {
    const info = stack.info();
    return { ...info, database_url: withDatabase(info.database_url, name) };
  },
});

/** Makes such a database, with the schema. */
export async function withOwnDatabase(stack: SharedStack, name: string): Promise<SharedStack> {
  const own = onDatabase(stack, name);
  await runProgram(["api", "migrate"], { DATABASE_URL: own.info().database_url }, own.root);
  return own;
}
