/** All steps of setup, in their order. */
import { randomBytes } from "node:crypto";

import * as z from "zod";

import { AccountService } from "../../../api/accounts/service.ts";
import { KeyService } from "../../../api/keys/service.ts";
import { MemberService } from "../../../api/members/service.ts";
import type { Sql } from "../../../api/postgres.ts";
import { UserService } from "../../../api/sessions/users.ts";
import { encodeId, type Uuid } from "../../../shared/ids.ts";
import { findingSchema } from "../../../shared/preflight.ts";
import { Installation, onDatabase } from "../../installation.ts";
import { type Host, Units } from "../host.ts";
import { commandOf } from "../processes.ts";
import { environmentFiles } from "./environment.ts";
import { type DesiredFile, filesStep } from "./files.ts";
import {
  clusterVersion,
  hasTable,
  postgresFiles,
  postgresPaths,
  privilegesStep,
  rolesStep,
} from "./postgres.ts";
import { type BackedUp, configurationStep, dataStep } from "./restore.ts";
import { Mask, type Secrets, SECRETS_FILE } from "./secrets.ts";
import {
  certbotStep,
  CLICKHOUSE_FILES,
  clickhouseFiles,
  clickhousePlace,
  NATS_FILES,
  natsFiles,
  tlsFiles,
} from "./server-files.ts";
import { readinessStep, type Service, servicesStep } from "./services.ts";
import {
  formatValues,
  hasProvider,
  type Settings,
  SETTINGS_FILE,
  type Values,
} from "./settings.ts";
import type { Change, Step } from "./step.ts";

const ACCESS = { mode: 0o600 };

/** Waits for another run of apt, such as one whose setup was killed. */
const APT_GET = ["apt-get", "--option=DPkg::Lock::Timeout=300"];

/** What `doctor-migrate` says of a schema that is behind. */
const BEHIND = /^Run shorthop migrate/;

/** A worker may not run while ClickHouse is migrated; the step of the services starts it again. */
const STOPPED = { api: undefined, worker: "shorthop-worker" };

/** The plan without the limits of a customer: the first account is the operator's own. */
const PLAN = "enterprise";

const PASSWORD_BYTES = 18;

/** Secrets that are shown once, the counts of a restored backup, the id of the first account. */
export type Created = { key?: string; password?: string; restored?: string; account?: string };

/** Makes a host what its settings and secrets say; with a backup, it begins with that. */
export class Setup {
  /** What the steps make that is shown once. */
  readonly created: Created = {};
  readonly #settings: Settings;
  readonly #secrets: Secrets;
  readonly #host: Host;
  readonly #backedUp: BackedUp | undefined;
  readonly #mask: Mask;
  readonly #installation: Installation;

  constructor(settings: Settings, secrets: Secrets, host: Host, backedUp?: BackedUp) {
    this.#settings = settings;
    this.#secrets = secrets;
    this.#host = host;
    this.#backedUp = backedUp;
    this.#mask = new Mask(secrets);
    this.#installation = new Installation({ SHORTHOP_CONFIG_DIR: host.path("/etc/shorthop") });
  }

  steps(): Step[] {
    const [settings, secrets, host] = [this.#settings, this.#secrets, this.#host];
    const backedUp = this.#backedUp;
    const hasStores = settings.ROLE === "stores";
    return [
      ...(backedUp === undefined ? [] : [configurationStep(backedUp, host, this.#mask)]),
      this.#files("settings and secrets", () => [
        valuesFile(SECRETS_FILE, "Secrets made by shorthop setup: keep a copy.", secrets),
        settingsFile(settings),
      ]),
      packagesStep(packagesOf(settings), host),
      ...(hasStores ? this.#storeSteps() : []),
      this.#files("processes", () => environmentFiles(settings, secrets, host)),
      ...(hasStores ? this.#schemaSteps() : []),
      this.#files("certificate", () => tlsFiles(settings, host)),
      certbotStep(settings, host),
      servicesStep("services", host, () => servicesOf(settings)),
      readinessStep(new Units(host, this.#installation), this.#readyUnits()),
      ...(hasStores ? [this.#accountStep(), ...this.#signInSteps()] : []),
    ];
  }

  /** The settings, with what the steps have found out. */
  get settings(): Settings {
    const { OIDC_ACCOUNT = this.created.account } = this.#settings;
    if (!hasProvider(this.#settings) || OIDC_ACCOUNT === undefined) return this.#settings;
    return { ...this.#settings, OIDC_ACCOUNT };
  }

  /** Only when there is an account can API processes have a provider, whose people join it. */
  #signInSteps(): Step[] {
    if (!hasProvider(this.#settings) || this.#settings.OIDC_ACCOUNT !== undefined) return [];
    const [secrets, host] = [this.#secrets, this.#host];
    return [
      this.#files("signing in", () => [
        settingsFile(this.settings),
        ...environmentFiles(this.settings, secrets, host),
      ]),
      servicesStep("services", host, () => servicesOf(this.#settings)),
      readinessStep(new Units(host, this.#installation), this.#readyUnits()),
    ];
  }

  #files(name: string, list: () => readonly DesiredFile[]): Step {
    return filesStep(name, this.#host, this.#mask, list);
  }

  /** Whether clicks have a ClickHouse, here or elsewhere. */
  #hasClickHouse(): boolean {
    return clickhousePlace(this.#host, this.#secrets) !== "missing";
  }

  /** The stores with their configuration, before the processes can use them. */
  #storeSteps(): Step[] {
    const [settings, secrets, host] = [this.#settings, this.#secrets, this.#host];
    return [
      this.#files("NATS", () => natsFiles(settings, secrets, host)),
      this.#files("PostgreSQL", () => postgresFiles(settings, host)),
      this.#files("ClickHouse", () => clickhouseFiles(settings, secrets, host)),
      servicesStep("stores", host, () => [
        { unit: "nats-server", reads: NATS_FILES },
        ...postgresServices(host),
        ...(clickhousePlace(host, secrets) === "here"
          ? [{ unit: "clickhouse-server", reads: CLICKHOUSE_FILES }]
          : []),
      ]),
      rolesStep(secrets, host),
      privilegesStep("PostgreSQL rights", "privileges.sql", host),
    ];
  }

  #schemaSteps(): Step[] {
    const host = this.#host;
    const backedUp = this.#backedUp;
    const keep = (counts: string) => void (this.created.restored = counts);
    return [
      ...(backedUp === undefined ? [] : [dataStep(backedUp, host, keep)]),
      this.#schemaStep("PostgreSQL schema", "api", () => true),
      privilegesStep("PostgreSQL grants", "grants.sql", host),
      this.#schemaStep("ClickHouse schema", "worker", () => this.#hasClickHouse()),
    ];
  }

  /** A step that migrates the schema of a process: `api` PostgreSQL's, `worker` ClickHouse's. */
  #schemaStep(name: string, owner: keyof typeof STOPPED, isExpected: () => boolean): Step {
    const host = this.#host;
    const inSurroundings = () => ({ env: this.#installation.read("migrate") });
    return {
      name,
      async inspect() {
        if (!isExpected()) return [];
        const examine = [...commandOf(owner), "doctor-migrate"];
        const { stdout } = await host.run(examine, inSurroundings());
        if (isUpToDate(stdout)) return [];
        const unit = STOPPED[owner];
        return [
          {
            title: "migrate the schema",
            async apply() {
              if (unit !== undefined) await host.read(["systemctl", "stop", unit]);
              await host.read([...commandOf(owner), "migrate"], inSurroundings());
            },
          },
        ];
      },
    };
  }

  /** A worker is not ready without ClickHouse; only the stores' host knows whether it is there. */
  #readyUnits(): string[] {
    const waits = this.#settings.ROLE !== "stores" || !this.#hasClickHouse();
    return servicesOf(this.#settings)
      .map(({ unit }) => unit)
      .filter((unit) => !waits || unit !== "shorthop-worker");
  }

  #accountStep(): Step {
    return firstAccountStep(
      this.#settings,
      () => hasTable(this.#host, "accounts"),
      (work) => {
        const url = this.#installation.read("api")["DATABASE_URL"] ?? "";
        return onDatabase(url, work);
      },
      this.created,
    );
  }
}

const valuesFile = (path: string, comment: string, values: Values): DesiredFile => ({
  path,
  content: formatValues(comment, values),
  access: ACCESS,
});

const settingsFile = (settings: Settings): DesiredFile =>
  valuesFile(SETTINGS_FILE, "What shorthop setup was told.", settings);

/** Packages of the distribution that a host needs beside Shorthop's own. */
function packagesOf({ ROLE, TLS }: Settings): string[] {
  const stores = ROLE === "stores" ? ["postgresql", "nats-server", "openssl"] : [];
  return [...stores, ...(TLS === "certbot" ? ["certbot"] : [])];
}

const packagesStep = (names: readonly string[], host: Host): Step => ({
  name: "packages",
  async inspect() {
    const missing: string[] = [];
    for (const name of names) if (!(await isInstalled(name, host))) missing.push(name);
    if (missing.length === 0) return [];
    const env = { DEBIAN_FRONTEND: "noninteractive" };
    return [
      {
        title: `apt-get install ${missing.join(" ")}`,
        async apply() {
          // When this fails, the lists that the machine has may still be good enough.
          await host.run([...APT_GET, "update"], { env });
          await host.read([...APT_GET, "install", "--yes", ...missing], { env });
        },
      },
    ];
  },
});

async function isInstalled(name: string, host: Host): Promise<boolean> {
  const query = ["dpkg-query", "--show", "--showformat=${db:Status-Status}", name];
  return (await host.run(query)).stdout === "installed";
}

/** Rules of `pg_hba.conf` also need the restart that `listen_addresses` does. */
function postgresServices(host: Host): Service[] {
  const version = clusterVersion(host);
  if (version === undefined) return [];
  return [{ unit: `postgresql@${version}-main`, reads: [postgresPaths(version).listen] }];
}

/** Whether a schema is up to date. Before the first run, the findings about it cannot be read. */
function isUpToDate(findings: string): boolean {
  try {
    const found = z.array(findingSchema).parse(JSON.parse(findings));
    return !found.some(({ mend }) => BEHIND.test(mend ?? ""));
  } catch {
    return false;
  }
}

const service = (unit: string, name: string): Service => ({
  unit,
  reads: [`/etc/shorthop/${name}.env`],
});

function servicesOf({ ROLE }: Settings): Service[] {
  const redirectors = [1, 2].map((n) => service(`shorthop-redirector@${n}`, "redirector"));
  if (ROLE === "redirector") return redirectors;
  return [
    service("shorthop-worker", "worker"),
    ...[1, 2].map((n) => service(`shorthop-api@${n}`, "api")),
    ...redirectors,
  ];
}

type WithSql = <T>(work: (sql: Sql) => Promise<T>) => Promise<T>;

/**
 * A step that makes an account when there is none. A key and a user are part of it: while it is the
 * only account they are made when they are missing, as after a run that was killed between. What is
 * made is put into `created`. `isReady` says whether the tables exist, which they do not in a dry
 * run on a fresh host.
 */
export const firstAccountStep = (
  { ACCOUNT, EMAIL }: Settings,
  isReady: () => Promise<boolean>,
  withSql: WithSql,
  created: Created,
): Step => ({
  name: "first account",
  async inspect() {
    const create: Change = {
      title: `create the account ${ACCOUNT} on the plan ${PLAN}, with a key, and the user ${EMAIL}`,
      apply: () =>
        withSql(async (sql) => {
          const id = await new AccountService(sql).create(ACCOUNT, PLAN, {});
          created.account = encodeId("acct", id);
          await createKey(sql, id, created);
          await createOwner(sql, id, EMAIL, created);
        }),
    };
    if (!(await isReady())) return [create];
    const found = await withSql(readFirstAccount);
    if (found === undefined) return [create];
    const { id, name, isOnly, hasKey, hasUser } = found;
    created.account = encodeId("acct", id);
    if (!isOnly || name !== ACCOUNT) return [];
    const key: Change = {
      title: "create a key of the account",
      apply: () => withSql((sql) => createKey(sql, id, created)),
    };
    const user: Change = {
      title: `create the user ${EMAIL}`,
      apply: () => withSql((sql) => createOwner(sql, id, EMAIL, created)),
    };
    return [...(hasKey ? [] : [key]), ...(hasUser ? [] : [user])];
  },
});

/** The account that was made first, and whether it has a key and a user. */
async function readFirstAccount(sql: Sql) {
  const [account, ...others] = await new AccountService(sql).list();
  if (account === undefined) return undefined;
  const keys = await new KeyService(sql).listAll(account.id);
  const users = await UserService.forOperators(sql).list();
  const { id, name } = account;
  const isOnly = others.length === 0;
  return { id, name, isOnly, hasKey: keys.length > 0, hasUser: users.length > 0 };
}

async function createKey(sql: Sql, account: Uuid, created: Created): Promise<void> {
  created.key = (await new KeyService(sql).createFirst(account)).key;
}

async function createOwner(
  sql: Sql,
  account: Uuid,
  email: string,
  created: Created,
): Promise<void> {
  const users = UserService.forOperators(sql);
  const password = randomBytes(PASSWORD_BYTES).toString("base64url");
  const id = await users.create({ email, name: email.split("@")[0] ?? email, password });
  await users.markVerified(id);
  await new MemberService(sql, users).add(account, id, "owner");
  created.password = password;
}
