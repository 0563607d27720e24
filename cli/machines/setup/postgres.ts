/**
 * PostgreSQL on the stores' host: its roles and what they may do, its database, and where it
 * listens.
 */
import { createHash, createHmac, pbkdf2Sync, randomBytes, timingSafeEqual } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { networkInterfaces } from "node:os";

import * as z from "zod";

import { type Host, succeed } from "../host.ts";
import { asOwnerOf } from "../owned-files.ts";
import { type DesiredFile, diffLines } from "./files.ts";
import type { Secrets } from "./secrets.ts";
import { isLoopback, type Settings } from "./settings.ts";
import type { Change, Step } from "./step.ts";

const CLUSTERS = "/etc/postgresql";
const SHARE = "/usr/share/shorthop/postgres";
const DATABASE = "shorthop";

/** Each role, with the name of its password. The first owns the database. */
const ROLES = {
  shorthop: "OWNER_PASSWORD",
  shorthop_api: "API_PASSWORD",
  shorthop_worker: "WORKER_PASSWORD",
};

const roleRows = z.array(
  z.object({ rolname: z.string(), rolcanlogin: z.boolean(), rolpassword: z.string().nullable() }),
);

/** Only the roles of setup: the verifiers of others are none of its business. */
const READ_ROLES = `select coalesce(json_agg(json_build_object(
  'rolname', rolname, 'rolcanlogin', rolcanlogin, 'rolpassword', rolpassword)), '[]')
  from pg_authid where rolname in ('${Object.keys(ROLES).join("', '")}');`;

/** Also on a server that was set up without a locale, which has none for letters beyond ASCII. */
const CREATE_DATABASE =
  "create database shorthop owner shorthop template template0 encoding 'UTF8' locale 'C.UTF-8'";

/** A step that makes the roles with their passwords, and the database. */
export const rolesStep = (secrets: Secrets, host: Host): Step => ({
  name: "PostgreSQL roles",
  async inspect() {
    const { code, stdout } = await host.psql("postgres", READ_ROLES);
    const rows = code === 0 ? roleRows.parse(JSON.parse(stdout)) : [];
    const changes = Object.entries(ROLES).flatMap(([role, secret]) =>
      inspectRole(role, secrets[secret] ?? "", rows, host),
    );
    if (await hasDatabase(host)) return changes;
    return [...changes, statement(CREATE_DATABASE, host)];
  },
});

function inspectRole(
  role: string,
  password: string,
  rows: z.output<typeof roleRows>,
  host: Host,
): Change[] {
  const row = rows.find(({ rolname }) => rolname === role);
  const ending = (): string => ` password '${verifierOf(password)}'`;
  if (row === undefined) return [statement(`create role ${role} login`, host, ending)];
  return [
    ...(row.rolcanlogin ? [] : [statement(`alter role ${role} login`, host)]),
    ...(verifies(row.rolpassword ?? "", password)
      ? []
      : [statement(`alter role ${role}`, host, ending, " password …")]),
  ];
}

/** A change by one statement; what `ending` returns is not shown. */
const statement = (text: string, host: Host, ending = () => "", shown = ""): Change => ({
  title: `${text}${shown}`,
  async apply() {
    succeed("psql", await host.psql("postgres", `${text}${ending()};\n`));
  },
});

/** The newest cluster `main` of Debian's packages: `15`; undefined when there is none. */
export function clusterVersion(host: Host): string | undefined {
  const dir = host.path(CLUSTERS);
  if (!existsSync(dir)) return undefined;
  return readdirSync(dir)
    .filter((name) => existsSync(`${dir}/${name}/main/postgresql.conf`))
    .toSorted((a, b) => Number(a) - Number(b))
    .at(-1);
}

/** The files of PostgreSQL with which other hosts reach it; none for loopback. */
export function postgresFiles({ STORES }: Settings, host: Host): DesiredFile[] {
  const version = clusterVersion(host);
  if (version === undefined || isLoopback(STORES)) return [];
  const { listen, rules } = postgresPaths(version);
  const rule = `host shorthop ${Object.keys(ROLES).join(",")} ${networkOf(STORES)} scram-sha-256`;
  const present = asOwnerOf(host.path(rules), () => host.readFile(rules)) ?? "";
  const access = { mode: 0o644 };
  return [
    { path: listen, content: `listen_addresses = 'localhost,${STORES}'\n`, access },
    { path: rules, content: present.split("\n").includes(rule) ? present : `${present}${rule}\n` },
  ];
}

/** The files that setup writes of a cluster. */
export const postgresPaths = (version: string) => ({
  listen: `${CLUSTERS}/${version}/main/conf.d/shorthop.conf`,
  rules: `${CLUSTERS}/${version}/main/pg_hba.conf`,
});

/** The network of an address of this host, in CIDR notation. */
const networkOf = (address: string): string =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find((one) => one.address === address)?.cidr ?? `${address}/32`;

/** One line for each object with rights: what it is, and who may do what. */
const READ_RIGHTS = `
select rights.line from (
  select 'database ' || datname as line, datacl as acl from pg_database where datname = current_database()
  union all
  select 'schema ' || nspname, nspacl from pg_namespace where nspname = 'public'
  union all
  select 'default ' || defaclrole::regrole::text || ' ' || defaclobjtype::text, defaclacl from pg_default_acl
  union all
  select 'relation ' || relname, relacl from pg_class where relnamespace = 'public'::regnamespace
  union all
  select 'function ' || oid::regprocedure::text, proacl from pg_proc where pronamespace = 'public'::regnamespace
) as objects,
lateral (
  select objects.line || ': ' || coalesce(string_agg(right_of::text, ', ' order by right_of::text), 'as created') as line
    from unnest(acl) as right_of
) as rights
order by 1;`;

const BETWEEN = "---";

/**
 * A step that gives the roles the rights of a file of the package. PostgreSQL finds out what is
 * missing: the statements run in a transaction that is rolled back, and what they change is
 * missing. Where the trial fails, as before what it is about exists, all statements are.
 */
export const privilegesStep = (name: string, file: string, host: Host): Step => ({
  name,
  async inspect() {
    const statements = readStatements(file, host);
    const trial = `begin;${READ_RIGHTS}\n\\echo ${BETWEEN}\n${statements}\n${READ_RIGHTS}\nrollback;\n`;
    const { code, stdout } = await host.psql(DATABASE, trial);
    const [before = "", after = ""] = stdout.split(`${BETWEEN}\n`);
    const lines = code === 0 ? diffLines(before, after) : statements.trim().split("\n");
    if (lines.length === 0) return [];
    return [
      {
        title: `apply ${file}`,
        lines,
        async apply() {
          succeed("psql", await host.psql(DATABASE, `begin;\n${statements}\ncommit;\n`));
        },
      },
    ];
  },
});

/** The statements of a file, without its transaction and its commands of psql. */
function readStatements(file: string, host: Host): string {
  const text = host.readFile(`${SHARE}/${file}`);
  if (text === undefined)
    throw new Error(`${SHARE}/${file} is missing: install the package shorthop.`);
  return text
    .split("\n")
    .filter((line) => !/^(?:\\|--|begin;|commit;)/.test(line))
    .join("\n");
}

/** Whether a database exists and has a table. */
export async function hasTable(host: Host, table: string): Promise<boolean> {
  const { code, stdout } = await host.psql(
    DATABASE,
    `select to_regclass('public.${table}') is not null;`,
  );
  return code === 0 && stdout.trim() === "t";
}

async function hasDatabase(host: Host): Promise<boolean> {
  return (await host.psql(DATABASE, "select 1;")).code === 0;
}

/**
 * Verifiers of PostgreSQL passwords (SCRAM-SHA-256, RFC 5802 and RFC 7677). The server takes one in
 * place of a password, so that neither its log nor a statement contains the password; and by the
 * server's own one setup sees whether a password is the current one.
 */
const KEY_BYTES = 32;
const SALT_BYTES = 16;

/** PostgreSQL's default. */
const ITERATIONS = 4_096;

/** `SCRAM-SHA-256$iterations:salt$storedKey:serverKey`, as in `pg_authid.rolpassword`. */
const VERIFIER = /^SCRAM-SHA-256\$(\d{1,7}):([\w+/=]{1,100})\$[\w+/=]{1,100}:[\w+/=]{1,100}$/;

/** The verifier of a password, which is ASCII. */
export function verifierOf(
  password: string,
  salt = randomBytes(SALT_BYTES),
  iterations = ITERATIONS,
): string {
  const salted = pbkdf2Sync(password, salt, iterations, KEY_BYTES, "sha256");
  const keyOf = (label: string) => createHmac("sha256", salted).update(label).digest();
  const stored = createHash("sha256").update(keyOf("Client Key")).digest("base64");
  const server = keyOf("Server Key").toString("base64");
  return `SCRAM-SHA-256$${iterations}:${salt.toString("base64")}$${stored}:${server}`;
}

/** Whether a verifier is of this password. */
export function verifies(verifier: string, password: string): boolean {
  const [, iterations, salt = ""] = VERIFIER.exec(verifier) ?? [];
  if (iterations === undefined) return false;
  const expected = verifierOf(password, Buffer.from(salt, "base64"), Number(iterations));
  return (
    expected.length === verifier.length &&
    timingSafeEqual(Buffer.from(expected), Buffer.from(verifier))
  );
}
