/**
 * The environment files of the processes: those that the packages install, with the variables that
 * setup knows. All other lines are the operator's.
 */
import type { Env } from "../../installation.ts";
import type { Host } from "../host.ts";
import type { DesiredFile } from "./files.ts";
import type { Secrets } from "./secrets.ts";
import { hasProvider, inUrl, NONE, providerOf, type Role, type Settings } from "./settings.ts";

const ACCESS = { mode: 0o600 };

const PROCESSES_OF: Record<Role, readonly string[]> = {
  redirector: ["redirector"],
  processes: ["redirector", "api", "worker"],
  stores: ["redirector", "api", "worker", "migrate"],
};

/** The files that a host of this role has. */
export const environmentFilesOf = (role: Role): string[] =>
  PROCESSES_OF[role].map((name) => `/etc/shorthop/${name}.env`);

/** The environment files as they should be. */
export function environmentFiles(settings: Settings, secrets: Secrets, host: Host): DesiredFile[] {
  const variables = variablesOf(settings, secrets);
  return PROCESSES_OF[settings.ROLE].map((name) => {
    const path = `/etc/shorthop/${name}.env`;
    const present = host.readFile(path) ?? "";
    return { path, content: setVariables(present, variables[name] ?? {}), access: ACCESS };
  });
}

function variablesOf(settings: Settings, secrets: Secrets): Record<string, Env> {
  const { DOMAIN, STORES, TLS } = settings;
  const host = inUrl(STORES);
  const shared = { SHORT_URL: `https://${DOMAIN}` };
  const API_URL = `https://api.${DOMAIN}`;
  const nats = (user: string) =>
    `nats://${user}:${secrets[`NATS_${user.toUpperCase()}`]}@${host}:4222`;
  const database = (user: string, password: string | undefined) =>
    `postgres://${user}:${password}@${host}:5432/shorthop`;
  const clickhouse = (user: string) =>
    secrets[`CLICKHOUSE_${user.toUpperCase()}`] ??
    `http://${user}:${secrets[`CLICKHOUSE_${user.toUpperCase()}_PASSWORD`]}@${host}:8123/shorthop`;
  const withTls = {
    REDIRECTOR_PORT: "443",
    TLS_CERT_FILE: "tls_cert.pem",
    TLS_KEY_FILE: "tls_key.pem",
  };
  return {
    redirector: {
      ...shared,
      API_URL,
      NATS_URL: nats("redirector"),
      LINK_UNLOCK_SECRET: secrets["UNLOCK_SECRET"],
      LINKS_PUBLIC_KEYS: secrets["LINKS_PUBLIC_KEYS"],
      ...(TLS === "none" ? {} : withTls),
    },
    api: {
      ...shared,
      API_URL,
      DATABASE_URL: database("shorthop_api", secrets["API_PASSWORD"]),
      NATS_URL: nats("api"),
      LINKS_SIGNING_KEY: secrets["LINKS_SIGNING_KEY"],
      LINKS_PUBLIC_KEYS: secrets["LINKS_PUBLIC_KEYS"],
      CLICKHOUSE_URL: clickhouse("api"),
      DASHBOARD_URL: `https://app.${DOMAIN}`,
      DASHBOARD_SECRET: secrets["DASHBOARD_SECRET"],
      WEBHOOKS_SECRET: secrets["WEBHOOKS_SECRET"],
      ...signInVariables(settings),
    },
    worker: {
      ...shared,
      DATABASE_URL: database("shorthop_worker", secrets["WORKER_PASSWORD"]),
      NATS_URL: nats("worker"),
      CLICKHOUSE_URL: clickhouse("worker"),
      VISITOR_HASH_SECRET: secrets["VISITOR_SECRET"],
      WEBHOOKS_SECRET: secrets["WEBHOOKS_SECRET"],
    },
    migrate: {
      DATABASE_URL: database("shorthop", secrets["OWNER_PASSWORD"]),
      CLICKHOUSE_URL: clickhouse("owner"),
    },
  };
}

/** The variables of the OpenID provider, once the account that its users join is known. */
function signInVariables(settings: Settings): Env {
  if (!hasProvider(settings) || settings.OIDC_ACCOUNT === undefined) return {};
  const { OIDC_ROLE_CLAIM: claim, ...variables } = providerOf(settings);
  return { ...variables, OIDC_ROLE_CLAIM: claim === NONE ? undefined : claim };
}

/**
 * Sets variables in the text of an environment file: in the line that sets each, else in the one
 * that is a comment of it, else in a new line at the end. Other lines stay as they are.
 */
export function setVariables(text: string, variables: Env): string {
  const lines = text.replace(/\n$/, "").split("\n");
  if (text === "") lines.pop();
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) continue;
    // Of several lines the last counts.
    const active = lines.findLastIndex((line) => line.trimStart().startsWith(`${name}=`));
    const commented = lines.findIndex((line) => line.startsWith(`#${name}=`));
    const at = active >= 0 ? active : commented;
    lines.splice(at >= 0 ? at : lines.length, at >= 0 ? 1 : 0, `${name}=${value}`);
  }
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}
