/** What the stack must remember and nobody else may read. */
import { randomBytes } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";

import * as z from "zod";

const randomSecret = (): string => randomBytes(24).toString("base64url");

const secretsSchema = z.object({
  postgresPassword: z.string(),
  visitorHashSecret: z.string(),
  /** What the dashboard's cookies are signed with, and its demo user's password. */
  dashboardSecret: z.string().default(randomSecret),
  demoPassword: z.string().default(randomSecret),
  /** The demo account's key, once there is one. */
  demoKey: z.string().optional(),
});

export type Secrets = z.output<typeof secretsSchema>;

/** Reads the file, or makes new secrets where there is none. */
export function loadSecrets(path: string): Secrets {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    text = JSON.stringify({ postgresPassword: randomSecret(), visitorHashSecret: randomSecret() });
  }
  // A file of an earlier version lacks what came later.
  const secrets = secretsSchema.parse(JSON.parse(text));
  saveSecrets(path, secrets);
  return secrets;
}

export const saveSecrets = (path: string, secrets: Secrets): void =>
  writePrivate(path, JSON.stringify(secrets, undefined, 2));

/** Writes a file that its owner alone may read, whole or not at all. */
export function writePrivate(path: string, text: string): void {
  writeFileSync(`${path}.new`, text, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}
