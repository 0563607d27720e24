/** All steps of setup, in their order. */
import { usePostgres } from "../../../api/postgres.ts";
import { openEnvironmentFiles } from "../../environment-files.ts";
import { CLICKHOUSE_FILES, clickhouseFiles, clickhousePlace } from "./clickhouse.ts";
import { environmentFiles } from "./environment.ts";
import { filesStep } from "./files.ts";
import { type Created, firstAccountStep } from "./first-account.ts";
import { createMask } from "./mask.ts";
import { NATS_DROP_IN, NATS_FILES, natsFiles } from "./nats.ts";
import { packagesOf, packagesStep } from "./packages.ts";
import { clusterVersion, postgresFiles, postgresPaths, rolesStep } from "./postgres.ts";
import { hasTable, privilegesStep } from "./privileges.ts";
import { readinessStep } from "./readiness.ts";
import { type BackedUp, configurationStep, dataStep } from "./restore.ts";
import { schemaStep } from "./schemas.ts";
import { type Secrets, SECRETS_FILE } from "./secrets.ts";
import { type Service, servicesStep } from "./services.ts";
import { formatValues, type Settings, SETTINGS_FILE } from "./settings.ts";
import type { Step } from "./step.ts";
import type { System } from "./system.ts";
import { certbotStep, tlsFiles } from "./tls.ts";

/** A command may wait longer than a request. */
const CONNECT_TIMEOUT_SECONDS = 30;

const ACCESS = { mode: 0o600 };

export type Plan = {
  settings: Settings;
  secrets: Secrets;
  system: System;
  /** What the steps make that is shown once. */
  created: Created;
  /** A backup to begin with. */
  backedUp: BackedUp | undefined;
};

/** The steps of a host, by its role. */
export function createSteps(plan: Plan): Step[] {
  const { settings, secrets, system, backedUp } = plan;
  const mask = createMask(Object.values(secrets).filter((value) => value !== undefined));
  const files = (name: string, list: Parameters<typeof filesStep>[0]["list"]): Step =>
    filesStep({ name, system, mask, list });
  const own = files("settings and secrets", () => [
    {
      path: SECRETS_FILE,
      content: formatValues(
        "Secrets of this installation, made by shorthop setup: keep a copy.",
        secrets,
      ),
      access: ACCESS,
    },
    {
      path: SETTINGS_FILE,
      content: formatValues("What shorthop setup was told.", settings),
      access: ACCESS,
    },
  ]);
  return [
    ...(backedUp === undefined ? [] : [configurationStep(backedUp, system, mask)]),
    own,
    packagesStep(packagesOf(settings), system),
    ...(settings.ROLE === "stores" ? storeSteps(plan, files) : []),
    files("processes", () => environmentFiles(settings, secrets, system)),
    ...(settings.ROLE === "stores" ? schemaSteps(plan) : []),
    files("certificate", () => tlsFiles(settings, system)),
    certbotStep(settings, system),
    servicesStep("services", system, () => servicesOf(settings)),
    readinessStep(readyUnits(plan)),
    ...(settings.ROLE === "stores" ? [accountStep(plan)] : []),
  ];
}

type Files = (name: string, list: Parameters<typeof filesStep>[0]["list"]) => Step;

/** The stores with their configuration, before the processes can use them. */
function storeSteps({ settings, secrets, system }: Plan, files: Files): Step[] {
  return [
    files("NATS", () => natsFiles(settings, secrets, system)),
    files("PostgreSQL", () => postgresFiles(settings, system)),
    files("ClickHouse", () => clickhouseFiles(settings, secrets, system)),
    servicesStep("stores", system, () => [
      { unit: "nats-server", reads: [...NATS_FILES, NATS_DROP_IN] },
      ...postgresServices(system),
      ...(clickhousePlace(system, secrets) === "here"
        ? [{ unit: "clickhouse-server", reads: CLICKHOUSE_FILES }]
        : []),
    ]),
    rolesStep(secrets, system),
    privilegesStep("PostgreSQL rights", "privileges.sql", system),
  ];
}

/** Rules of `pg_hba.conf` also need the restart that `listen_addresses` does. */
function postgresServices(system: System): Service[] {
  const version = clusterVersion(system);
  if (version === undefined) return [];
  const [listen = ""] = postgresPaths(version);
  return [{ unit: `postgresql@${version}-main`, reads: [listen] }];
}

const schemaSteps = ({ secrets, system, backedUp, created }: Plan): Step[] => [
  ...(backedUp === undefined
    ? []
    : [dataStep(backedUp, system, (counts) => void (created.restored = counts))]),
  schemaStep("PostgreSQL schema", "api", system, () => true),
  privilegesStep("PostgreSQL grants", "grants.sql", system),
  schemaStep(
    "ClickHouse schema",
    "worker",
    system,
    () => clickhousePlace(system, secrets) !== "missing",
  ),
];

const service = (unit: string, name: string): Service => ({
  unit,
  reads: [`/etc/shorthop/${name}.env`],
});

/** The units of a host, with the files that each reads. */
function servicesOf({ ROLE }: Settings): Service[] {
  const redirectors = [1, 2].map((n) => service(`shorthop-redirector@${n}`, "redirector"));
  if (ROLE === "redirector") return redirectors;
  return [
    service("shorthop-worker", "worker"),
    ...[1, 2].map((n) => service(`shorthop-api@${n}`, "api")),
    ...redirectors,
  ];
}

/**
 * Without ClickHouse a worker waits, which it says by not being ready; a host without the stores
 * does not know whether there is one.
 */
function readyUnits({ settings, secrets, system }: Plan): string[] {
  const waits = settings.ROLE !== "stores" || clickhousePlace(system, secrets) === "missing";
  return servicesOf(settings)
    .map(({ unit }) => unit)
    .filter((unit) => !waits || unit !== "shorthop-worker");
}

function accountStep({ settings, system, created }: Plan): Step {
  const readUrl = (): string =>
    openEnvironmentFiles({ SHORTHOP_CONFIG_DIR: system.path("/etc/shorthop") }).read("api")[
      "DATABASE_URL"
    ] ?? "";
  return firstAccountStep(settings, {
    isReady: () => hasTable(system, "accounts"),
    withSql: (work) => usePostgres(readUrl(), work, CONNECT_TIMEOUT_SECONDS),
    created,
  });
}
