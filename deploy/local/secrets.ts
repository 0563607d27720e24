/** The stack's stored secrets, and files that only its user can read. */
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import * as z from "zod";

import { newSigningKey } from "../../shared/links-log/signature.ts";

const randomSecret = (): string => randomBytes(24).toString("base64url");

/** What a file lacks is generated. */
const secretsSchema = z.object({
  postgresPassword: z.string().default(randomSecret),
  /** Of the roles of the API and the worker in the local PostgreSQL. */
  apiPostgresPassword: z.string().default(randomSecret),
  workerPostgresPassword: z.string().default(randomSecret),
  /** Passwords of the local NATS and ClickHouse. */
  natsPassword: z.string().default(randomSecret),
  clickhousePassword: z.string().default(randomSecret),
  visitorHashSecret: z.string().default(randomSecret),
  /** What the secrets of webhooks are derived from. */
  webhooksSecret: z.string().default(randomSecret),
  /** Signs the links log. */
  linksSigningKey: z.string().default(newSigningKey),
  /** Signs the dashboard's cookies; below it, the demo user's password. */
  dashboardSecret: z.string().default(randomSecret),
  demoPassword: z.string().default(randomSecret),
  /** The demo account's keys of both modes, once they have been created. */
  demoKeys: z.object({ live: z.string(), test: z.string() }).optional(),
});

export type Secrets = z.output<typeof secretsSchema>;

/** Reads the secrets; generates missing ones. */
export function loadSecrets(path: string): Secrets {
  const text = existsSync(path) ? readFileSync(path, "utf8") : "{}";
  const secrets = secretsSchema.parse(JSON.parse(text));
  saveSecrets(path, secrets);
  return secrets;
}

export const saveSecrets = (path: string, secrets: Secrets): void =>
  writePrivate(path, JSON.stringify(secrets, undefined, 2));

/** Writes a file atomically, readable only by its owner. */
export function writePrivate(path: string, text: string): void {
  writeFileSync(`${path}.new`, text, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** Files of the stack and of its processes have mode 0600, folders 0700. */
export const PRIVATE_UMASK = 0o077;

const PRIVATE_MODE = 0o700;

/** Others may traverse the folder, but not list it. */
export const TRAVERSABLE_MODE = 0o711;

/**
 * Creates the data directory, or restricts an existing one and its folders. Root's stays
 * traversable, because PostgreSQL refuses to run as root and must reach its own folder inside.
 */
export function makePrivate(dataDir: string, folders: readonly string[]): void {
  mkdirSync(dataDir, { recursive: true });
  chmodSync(dataDir, process.getuid?.() === 0 ? TRAVERSABLE_MODE : PRIVATE_MODE);
  for (const path of folders.map((name) => join(dataDir, name))) {
    // PostgreSQL's folder may be a link to one that its user can reach.
    if (existsSync(path) && !lstatSync(path).isSymbolicLink()) chmodSync(path, PRIVATE_MODE);
  }
}
