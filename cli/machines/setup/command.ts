/** `shorthop setup`: from installed packages to a running installation, in one command. */
import { createInterface } from "node:readline/promises";

import { type Command, Option } from "commander";

import { readFreeBytes } from "../../../shared/disk.ts";
import { parseEnvironment } from "../../environment-files.ts";
import { parsePlace } from "../backup/place.ts";
import { describeCapacity, readMachine } from "./capacity.ts";
import { CLICKHOUSE_INSTALLATION, clickhousePlace } from "./clickhouse.ts";
import { readIfExists } from "./files.ts";
import type { Created } from "./first-account.ts";
import { inviteHosts, joinHost, requireInviting } from "./join.ts";
import { findProblems } from "./problems.ts";
import { readBackedUp } from "./restore.ts";
import { CLICKHOUSE_URLS, completeSecrets, rotate, type Secrets, SECRETS_FILE } from "./secrets.ts";
import {
  type Ask,
  completeSettings,
  type Role,
  ROLES,
  SETTING_NAMES,
  type Settings,
  SETTINGS_FILE,
  type Values,
} from "./settings.ts";
import { runSteps } from "./step.ts";
import { createSteps } from "./steps.ts";
import { formatSummary } from "./summary.ts";
import { openSystem, type System } from "./system.ts";

type Options = {
  domain?: string;
  stores?: string;
  email?: string;
  account?: string;
  tls?: string;
  tlsCert?: string;
  tlsKey?: string;
  file?: string;
  rotate?: string;
  invite?: Role[];
  join?: string;
  restore?: string;
  dns: boolean;
  yes: boolean;
  dryRun: boolean;
};

export function addSetupCommand(program: Command, env: Record<string, string | undefined>): void {
  program
    .command("setup")
    .summary("Set up this host: stores, processes, first account; again, to repair it")
    .description(
      "Set up this host, after the packages are installed: secrets, PostgreSQL, NATS, ClickHouse where its server is " +
        "installed, the processes, and the first account. It asks for what is not given. Run again, it repairs what is " +
        "missing or was changed, and nothing else. It never touches data",
    )
    .option("--domain <host>", "domain of the short links; api. and app. before it are the others")
    .option("--stores <address>", "address of this host for others that will join (default: none)")
    .option("--email <address>", "e-mail address of the first user (default: admin@ the domain)")
    .option("--account <name>", "name of the first account (default: the domain)")
    .addOption(
      new Option("--tls <by>", "who has the certificate: a proxy in front, or redirectors").choices(
        ["none", "files", "certbot"],
      ),
    )
    .option("--tls-cert <path>", "certificate of the domain with its chain, in PEM")
    .option("--tls-key <path>", "its key, in PEM")
    .option("--file <path>", "file of settings, NAME=value, as /etc/shorthop/setup.env")
    .option("--rotate <name>", "replace a secret by a new one, without a failed redirect")
    .addOption(
      new Option(
        "--invite <roles...>",
        "then print a token for each other host, by role, and wait until they have joined",
      ).choices(ROLES.filter((role) => role !== "stores")),
    )
    .option(
      "--join <host>",
      "set up this host by a token of the stores' host, read from the terminal",
    )
    .option(
      "--restore <place>",
      "begin with the newest backup of a directory or of s3://bucket/prefix",
      parsePlace,
    )
    .option("--without-dns", "do not require that the names resolve yet", false)
    .option("--yes", "ask nothing", false)
    .option("--dry-run", "only print every file and statement that would change", false)
    .action(({ withoutDns, ...options }: Omit<Options, "dns"> & { withoutDns: boolean }) =>
      setUp({ ...options, dns: !withoutDns }, env),
    );
}

async function setUp(options: Options, env: Record<string, string | undefined>): Promise<void> {
  requireRoot();
  const system = openSystem("/", undefined, env);
  const { restore } = options;
  const backedUp = restore === undefined ? undefined : await readBackedUp(restore, env);
  const given = { ...backedUp?.values, ...(await readGiven(options, system)) };
  const settings = await askForSettings(given, options);
  if (options.invite !== undefined) requireInviting(settings);
  const secrets = prepareSecrets(settings, given, options);
  const problems = await findProblems(settings, system, options);
  if (problems.length > 0) throw new Error(problems.join("\n"));
  for (const line of describeCapacity(readMachine(readFreeBytes(system.path("/var/lib")))))
    console.log(line);
  const created: Created = {};
  const steps = createSteps({ settings, secrets, system, created, backedUp });
  const count = await runSteps(steps, { dryRun: options.dryRun, print: console.log });
  if (options.dryRun)
    return console.log(count === 0 ? "Nothing would change." : `${count} changes would be made.`);
  console.log(count === 0 ? "Nothing has changed." : `${count} changes made.`);
  finish(settings, { created, hasClickHouse: clickhousePlace(system, secrets) !== "missing" });
  if (options.invite !== undefined)
    await inviteHosts(options.invite, { settings, secrets, system }, console.log);
}

function requireRoot(): void {
  if (process.getuid?.() !== 0) throw new Error("Run shorthop setup as root: sudo shorthop setup.");
}

/**
 * Values by name, of settings and secrets: those of options count most, then those of an
 * invitation, then the file's.
 */
async function readGiven(options: Options, system: System): Promise<Values> {
  const read = (path: string): Values => parseEnvironment(readIfExists(system, path) ?? "");
  const saved = { ...read(SECRETS_FILE), ...read(SETTINGS_FILE) };
  const joined = options.join === undefined ? {} : await joinHost(options.join, saved, readToken);
  return { ...saved, ...readFile(options, system), ...joined, ...readOptions(options) };
}

/** The file of `--file`. Throws when it does not exist, or has something unknown. */
function readFile({ file }: Options, system: System): Values {
  if (file === undefined) return {};
  const text = readIfExists(system, file);
  if (text === undefined) throw new Error(`There is no ${file}.`);
  const values = parseEnvironment(text);
  const known = new Set([...SETTING_NAMES, ...CLICKHOUSE_URLS]);
  const unknown = Object.keys(values).find((name) => !known.has(name));
  if (unknown !== undefined) throw new Error(`${file}: there is no setting ${unknown}.`);
  return values;
}

function readOptions(options: Options): Values {
  const values: Values = {
    DOMAIN: options.domain,
    STORES: options.stores,
    EMAIL: options.email,
    ACCOUNT: options.account,
    TLS: options.tls ?? (options.tlsCert === undefined ? undefined : "files"),
    TLS_CERT: options.tlsCert,
    TLS_KEY: options.tlsKey,
  };
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** A token is no argument, which every user could see: it is asked for, or a line of a pipe. */
async function readToken(): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return await terminal.question(process.stdin.isTTY ? "Token: " : "");
  } finally {
    terminal.close();
  }
}

/** Asks on a terminal, unless `--yes` says not to. */
async function askForSettings(given: Values, { yes, dryRun }: Options): Promise<Settings> {
  if (yes || dryRun || !process.stdin.isTTY) return await completeSettings(given);
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const ask: Ask = async (text, preset) =>
    (await terminal.question(`${text}${preset === undefined ? "" : ` [${preset}]`}: `)).trim();
  try {
    return await completeSettings(given, ask);
  } finally {
    terminal.close();
  }
}

function prepareSecrets({ ROLE }: Settings, given: Values, options: Options): Secrets {
  const kept = Object.entries(given).filter(
    ([name, value]) => !SETTING_NAMES.includes(name) && value !== undefined,
  );
  const existing: Secrets = Object.fromEntries(kept);
  const changed = options.rotate === undefined ? existing : rotate(ROLE, existing, options.rotate);
  return completeSecrets(ROLE, changed);
}

/** Prints what an operator needs now; the key and the password before anything that may fail. */
function finish(
  settings: Settings,
  { created, hasClickHouse }: { created: Created; hasClickHouse: boolean },
): void {
  console.log(formatSummary(settings, created));
  if (settings.ROLE !== "stores" || hasClickHouse) return;
  console.log(`  There is no analytics yet: clicks wait in NATS until ClickHouse is there. To install it:

${CLICKHOUSE_INSTALLATION.replaceAll(/^/gm, "    ")}
`);
}
