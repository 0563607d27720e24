/** `shorthop setup`: from installed packages to a running installation, in one command. */
import { type Command, Option } from "commander";

import { readFreeBytes } from "../../../shared/disk.ts";
import { type Installation, parseEnvironment } from "../../installation.ts";
import { ask } from "../../output.ts";
import { parsePlace } from "../backup/storage.ts";
import { Host } from "../host.ts";
import { inviteHosts, joinHost, requireInviting } from "./invitation.ts";
import { describeCapacity, findProblems } from "./problems.ts";
import { readBackedUp } from "./restore.ts";
import { CLICKHOUSE_URLS, completeSecrets, rotate, type Secrets, SECRETS_FILE } from "./secrets.ts";
import { CLICKHOUSE_INSTALLATION, clickhousePlace } from "./server-files.ts";
import {
  completeSettings,
  hasProvider,
  type Role,
  ROLES,
  SETTING_NAMES,
  type Settings,
  SETTINGS_FILE,
  type Values,
} from "./settings.ts";
import { runSteps } from "./step.ts";
import { type Created, Setup } from "./steps.ts";

type Given = {
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
  withoutDns: boolean;
  yes: boolean;
  dryRun: boolean;
};

export function addSetupCommand(program: Command, installation: Installation): void {
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
    .action((options: Given) => setUp(options, installation));
}

async function setUp(options: Given, { env }: Installation): Promise<void> {
  requireRoot();
  const host = new Host(env);
  const { restore, dryRun } = options;
  const backedUp = restore === undefined ? undefined : await readBackedUp(restore, env);
  const given = { ...backedUp?.values, ...(await readGiven(options, host)) };
  const settings = await askForSettings(given, options);
  if (options.invite !== undefined) requireInviting(settings);
  const secrets = prepareSecrets(settings, given, options);
  const problems = await findProblems(settings, host, !options.withoutDns);
  if (problems.length > 0) throw new Error(problems.join("\n"));
  for (const line of describeCapacity(readFreeBytes(host.path("/var/lib")))) console.log(line);
  const setup = new Setup(settings, secrets, host, backedUp);
  const count = await runSteps(setup.steps(), { dryRun, print: console.log });
  if (dryRun)
    return console.log(count === 0 ? "Nothing would change." : `${count} changes would be made.`);
  console.log(count === 0 ? "Nothing has changed." : `${count} changes made.`);
  // Now, as the key and the password must be seen before anything that may fail.
  console.log(formatSummary(settings, setup.created));
  if (settings.ROLE === "stores" && clickhousePlace(host, secrets) === "missing")
    console.log(`  There is no analytics yet: clicks wait in NATS until ClickHouse is there. To install it:

${CLICKHOUSE_INSTALLATION.replaceAll(/^/gm, "    ")}
`);
  if (options.invite !== undefined)
    await inviteHosts(options.invite, setup.settings, secrets, host);
}

function requireRoot(): void {
  if (process.getuid?.() !== 0) throw new Error("Run shorthop setup as root: sudo shorthop setup.");
}

/** Settings and secrets by name: of options, else of an invitation, else of the files. */
async function readGiven(options: Given, host: Host): Promise<Values> {
  const read = (path: string): Values => parseEnvironment(host.readFile(path) ?? "");
  const saved = { ...read(SECRETS_FILE), ...read(SETTINGS_FILE) };
  const joined = options.join === undefined ? {} : await joinHost(options.join, saved, readToken);
  return { ...saved, ...readFile(options, host), ...joined, ...readOptions(options) };
}

/** The file of `--file`. Throws when it does not exist, or has something unknown. */
function readFile({ file }: Given, host: Host): Values {
  if (file === undefined) return {};
  const text = host.readFile(file);
  if (text === undefined) throw new Error(`There is no ${file}.`);
  const values = parseEnvironment(text);
  const known = new Set([...SETTING_NAMES, ...CLICKHOUSE_URLS]);
  const unknown = Object.keys(values).find((name) => !known.has(name));
  if (unknown !== undefined) throw new Error(`${file}: there is no setting ${unknown}.`);
  return values;
}

function readOptions(options: Given): Values {
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
const readToken = (): Promise<string> => ask(process.stdin.isTTY ? "Token: " : "");

/** Asks on a terminal, unless `--yes` says not to. */
async function askForSettings(given: Values, { yes, dryRun }: Given): Promise<Settings> {
  if (yes || dryRun || !process.stdin.isTTY) return await completeSettings(given);
  return await completeSettings(given, (text, preset) =>
    ask(`${text}${preset === undefined ? "" : ` [${preset}]`}: `),
  );
}

function prepareSecrets({ ROLE }: Settings, given: Values, options: Given): Secrets {
  const kept = Object.entries(given).filter(
    ([name, value]) => !SETTING_NAMES.includes(name) && value !== undefined,
  );
  const existing: Secrets = Object.fromEntries(kept);
  const changed = options.rotate === undefined ? existing : rotate(ROLE, existing, options.rotate);
  return completeSecrets(ROLE, changed);
}

/** For the operator's firewall, which setup leaves alone. */
const OPEN_PORTS = {
  none: "80 (or 443, of the proxy in front)",
  files: "443",
  certbot: "80 and 443",
};

function formatSummary(settings: Settings, { key, password, restored }: Created): string {
  const { DOMAIN, EMAIL, ROLE } = settings;
  const short = `https://${DOMAIN}`;
  const api = `https://api.${DOMAIN}`;
  if (ROLE !== "stores")
    return `
  Shorthop is ready on this host: add its address to the load balancer or the DNS of ${DOMAIN}.
${describeFirewall(settings)}`;
  const shownKey = key ?? "KEY";
  return `
  Shorthop is ready.${restored === undefined ? "" : ` The backup was restored:\n\n${restored.replaceAll(/^(?=.)/gm, "    ")}`}

    API           ${api}/v1
    Short links   ${short}
    Key           ${key ?? "as printed before; another: shorthop keys create"}
    Dashboard     https://app.${DOMAIN}
                  ${password === undefined ? "another password: shorthop users set-password" : `sign in as ${EMAIL}, password ${password}`}

  The key and the password are not shown again.

  Create a short link, also on this host before the names are public:

    curl -X POST http://127.0.0.1:3000/v1/links \\
      -H 'Authorization: Bearer ${shownKey}' \\
      -H 'Content-Type: application/json' \\
      -d '{"url": "https://example.com/hello", "alias": "hello"}'

  Follow it, then look at its clicks (LINK_ID is the "id" above):

    curl -i ${short}/hello
    curl '${api}/v1/analytics/LINK_ID?period=24h' \\
      -H 'Authorization: Bearer ${shownKey}'

  Keep a copy of /etc/shorthop/secrets.env elsewhere. Next: a proxy with TLS for api.${DOMAIN} and app.${DOMAIN},
  GeoIP data, and backups (/usr/share/doc/shorthop/docs/operations.md).
${describeProvider(settings)}${describeFirewall(settings)}`;
}

/** What to enter at a provider, which needs the address of the dashboard. */
function describeProvider(settings: Settings): string {
  if (!hasProvider(settings)) return "";
  const dashboard = `https://app.${settings.DOMAIN}`;
  return `
  At ${settings.OIDC_ISSUER}, the application's redirect URI is ${dashboard}/auth/oidc/callback, and ${dashboard}/
  is where it leads after signing out.
`;
}

/** Only a suggestion: a wrong firewall locks the operator out. */
function describeFirewall({ ROLE, TLS, STORES }: Settings): string {
  const stores =
    ROLE === "stores" && STORES !== "127.0.0.1"
      ? `, and 4222, 5432 and 8123 at ${STORES} to the hosts of Shorthop`
      : "";
  return `
  Firewall: open ${OPEN_PORTS[TLS]} to visitors${stores}; nothing else.
`;
}
