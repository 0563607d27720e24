/**
 * The secrets of an installation: made once, kept in a file that only root can read, from which
 * setup writes all other files.
 */
import { randomBytes } from "node:crypto";

import { newSigningKey, publicKeyOf } from "../../../shared/links-log/signature.ts";
import type { Role, Values } from "./settings.ts";

export const SECRETS_FILE = "/etc/shorthop/secrets.env";

/** Which role needs which secrets. */
const REDIRECTOR = ["NATS_REDIRECTOR", "UNLOCK_SECRET", "LINKS_PUBLIC_KEYS"];
const PROCESSES = [
  ...REDIRECTOR,
  "NATS_WORKER",
  "NATS_API",
  "API_PASSWORD",
  "WORKER_PASSWORD",
  "CLICKHOUSE_API_PASSWORD",
  "CLICKHOUSE_WORKER_PASSWORD",
  "DASHBOARD_SECRET",
  "VISITOR_SECRET",
  "WEBHOOKS_SECRET",
  "LINKS_SIGNING_KEY",
];
const BY_ROLE: Record<Role, readonly string[]> = {
  redirector: REDIRECTOR,
  processes: PROCESSES,
  stores: [...PROCESSES, "NATS_OPERATOR", "OWNER_PASSWORD", "CLICKHOUSE_OWNER_PASSWORD"],
};

/** URLs of a ClickHouse elsewhere, with its users' passwords; none for one on the stores' host. */
export const CLICKHOUSE_URLS = ["CLICKHOUSE_API", "CLICKHOUSE_WORKER", "CLICKHOUSE_OWNER"];

/** Secrets that are part of what is stored, and what a new one would do. */
const NEVER_CHANGED: Record<string, string> = {
  VISITOR_SECRET: "every returning visitor would count as a new one",
  WEBHOOKS_SECRET: "every webhook would sign with another key, and receivers refuse what it sends",
};

const SECRET_BYTES = 24;

/** A value for each name; `CLICKHOUSE_URLS` only if they are given. */
export type Secrets = Values;

/** Adds the secrets that a role lacks. Without an API, others give the public keys. */
export function completeSecrets(role: Role, existing: Secrets): Secrets {
  const secrets: Secrets = { ...existing };
  const names = BY_ROLE[role].filter((name) => name !== "LINKS_PUBLIC_KEYS");
  for (const name of names) secrets[name] ??= newValue(name);
  const { LINKS_SIGNING_KEY: key } = secrets;
  if (key !== undefined) secrets["LINKS_PUBLIC_KEYS"] ??= publicKeyOf(key);
  return secrets;
}

const newValue = (name: string): string =>
  name === "LINKS_SIGNING_KEY" ? newSigningKey() : randomBytes(SECRET_BYTES).toString("hex");

/** The secrets that a host of another role needs. */
export const secretsFor = (role: Role, secrets: Secrets): Secrets =>
  Object.fromEntries(
    [...BY_ROLE[role], ...(role === "processes" ? CLICKHOUSE_URLS.slice(0, 2) : [])]
      .filter((name) => secrets[name] !== undefined)
      .map((name) => [name, secrets[name]]),
  );

/**
 * Replaces one secret by a new one. The steps then find every file and role that has the old one.
 * Throws when it is none of the installation, or must not change.
 */
export function rotate(role: Role, secrets: Secrets, name: string): Secrets {
  const isElsewhere = secrets[CLICKHOUSE_URLS[0] ?? ""] !== undefined;
  const names = BY_ROLE[role].filter(
    (one) =>
      !(one in NEVER_CHANGED) &&
      one !== "LINKS_PUBLIC_KEYS" &&
      !(isElsewhere && one.startsWith("CLICKHOUSE_")),
  );
  const harm = NEVER_CHANGED[name];
  if (harm !== undefined) throw new Error(`${name} must never change: ${harm}.`);
  if (!names.includes(name))
    throw new Error(`There is no secret "${name}". These can be rotated: ${names.join(", ")}.`);
  if (secrets[name] === undefined)
    throw new Error(`${SECRETS_FILE} has no ${name} yet: run shorthop setup first.`);
  const rotated = { ...secrets, [name]: newValue(name) };
  return name === "LINKS_SIGNING_KEY" ? withBothKeys(secrets, rotated) : rotated;
}

/** What the key before has signed is read until it is replaced again. */
const withBothKeys = (
  { LINKS_SIGNING_KEY: before = "" }: Secrets,
  { LINKS_SIGNING_KEY: key = "", ...others }: Secrets,
): Secrets => ({
  ...others,
  LINKS_SIGNING_KEY: key,
  LINKS_PUBLIC_KEYS: `${publicKeyOf(key)},${publicKeyOf(before)}`,
});

const HIDDEN = "…";

/** Passwords in URLs, and values of lines whose name says that they are secret. */
const PATTERNS: readonly [pattern: RegExp, replacement: string][] = [
  [/(:\/\/[^\s:@/]{1,100}:)[^\s@/]{1,200}(?=@)/g, `$1${HIDDEN}`],
  [/^([+\- ]? ?\w{0,60}(?:secret|password\w{0,20})\s?[=:]\s?).{1,300}/gim, `$1${HIDDEN}`],
];

/** Hides these secrets, and everything that looks like one, in what setup prints. */
export class Mask {
  readonly #secrets: readonly string[];

  constructor(secrets: Secrets) {
    this.#secrets = Object.values(secrets).flatMap((secret) => secret || []);
  }

  hide(text: string): string {
    const known = this.#secrets.reduce((masked, secret) => masked.replaceAll(secret, HIDDEN), text);
    return PATTERNS.reduce(
      (masked, [pattern, replacement]) => masked.replace(pattern, replacement),
      known,
    );
  }
}
