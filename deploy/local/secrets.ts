/** What the stack must remember and nobody else may read. */
import { randomBytes } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";

import * as z from "zod";

const secretsSchema = z.object({
  postgresPassword: z.string(),
  visitorHashSecret: z.string(),
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
    const secrets = { postgresPassword: randomSecret(), visitorHashSecret: randomSecret() };
    saveSecrets(path, secrets);
    return secrets;
  }
  return secretsSchema.parse(JSON.parse(text));
}

export const saveSecrets = (path: string, secrets: Secrets): void =>
  writePrivate(path, JSON.stringify(secrets, undefined, 2));

/** Writes a file that its owner alone may read, whole or not at all. */
export function writePrivate(path: string, text: string): void {
  writeFileSync(`${path}.new`, text, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

const randomSecret = (): string => randomBytes(24).toString("base64url");
