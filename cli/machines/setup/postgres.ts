/** PostgreSQL on the stores' host: its roles, its database, and where it listens. */
import { existsSync, readdirSync } from "node:fs";
import { networkInterfaces } from "node:os";

import * as z from "zod";

import { asOwnerOf } from "../owned-files.ts";
import { type DesiredFile, readIfExists } from "./files.ts";
import { hasDatabase } from "./privileges.ts";
import { createVerifier, verifies } from "./scram.ts";
import type { Secrets } from "./secrets.ts";
import { isLoopback, type Settings } from "./settings.ts";
import type { Change, Step } from "./step.ts";
import { succeed, type System } from "./system.ts";

const CLUSTERS = "/etc/postgresql";

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

/** A step that makes the roles with their passwords, and the database. */
export const rolesStep = (secrets: Secrets, system: System): Step => ({
  name: "PostgreSQL roles",
  async inspect() {
    const { code, stdout } = await system.psql("postgres", READ_ROLES);
    const rows = code === 0 ? roleRows.parse(JSON.parse(stdout)) : [];
    const changes = Object.entries(ROLES).flatMap(([role, secret]) =>
      inspectRole(role, secrets[secret] ?? "", rows, system),
    );
    if (await hasDatabase(system)) return changes;
    return [...changes, statement("create database shorthop owner shorthop", system)];
  },
});

function inspectRole(
  role: string,
  password: string,
  rows: z.output<typeof roleRows>,
  system: System,
): Change[] {
  const row = rows.find(({ rolname }) => rolname === role);
  const ending = (): string => ` password '${createVerifier(password)}'`;
  if (row === undefined) return [statement(`create role ${role} login`, system, ending)];
  return [
    ...(row.rolcanlogin ? [] : [statement(`alter role ${role} login`, system)]),
    ...(verifies(row.rolpassword ?? "", password)
      ? []
      : [statement(`alter role ${role}`, system, ending, " password …")]),
  ];
}

/** A change by one statement; what `ending` returns is not shown. */
const statement = (text: string, system: System, ending = () => "", shown = ""): Change => ({
  title: `${text}${shown}`,
  async apply() {
    succeed("psql", await system.psql("postgres", `${text}${ending()};\n`));
  },
});

/** The newest cluster `main` of Debian's packages: `15`; undefined when there is none. */
export function clusterVersion(system: System): string | undefined {
  const dir = system.path(CLUSTERS);
  if (!existsSync(dir)) return undefined;
  return readdirSync(dir)
    .filter((name) => existsSync(`${dir}/${name}/main/postgresql.conf`))
    .toSorted((a, b) => Number(a) - Number(b))
    .at(-1);
}

/** The files of PostgreSQL with which other hosts reach it; none for loopback. */
export function postgresFiles({ STORES }: Settings, system: System): DesiredFile[] {
  const version = clusterVersion(system);
  if (version === undefined || isLoopback(STORES)) return [];
  const [listen = "", rules = ""] = postgresPaths(version);
  const rule = `host shorthop ${Object.keys(ROLES).join(",")} ${networkOf(STORES)} scram-sha-256`;
  const present = asOwnerOf(system.path(rules), () => readIfExists(system, rules)) ?? "";
  const access = { mode: 0o644 };
  return [
    { path: listen, content: `listen_addresses = 'localhost,${STORES}'\n`, access },
    { path: rules, content: present.split("\n").includes(rule) ? present : `${present}${rule}\n` },
  ];
}

/** The files that setup writes of a cluster. */
export const postgresPaths = (version: string): string[] => [
  `${CLUSTERS}/${version}/main/conf.d/shorthop.conf`,
  `${CLUSTERS}/${version}/main/pg_hba.conf`,
];

/** The network of an address of this host, in CIDR notation. */
const networkOf = (address: string): string =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find((one) => one.address === address)?.cidr ?? `${address}/32`;
