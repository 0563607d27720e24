/**
 * Files of a connection to NATS: a user's credentials, as `nsc` and managed services issue them,
 * and the certificates of a private authority.
 */
import { existsSync } from "node:fs";
import { basename, join } from "node:path";

import * as z from "zod";

/** Variables of the processes that connect to NATS, besides `NATS_URL`. */
export const natsFileVariables = {
  /** A credentials file (JWT and key), in place of user and password in `NATS_URL`. */
  NATS_CREDS: z.string().optional(),
  /** Certificates of the authority that signed those of the servers, if it is a private one. */
  NATS_CA_FILE: z.string().optional(),
  /** Directory of systemd credentials, which systemd sets. */
  CREDENTIALS_DIRECTORY: z.string().optional(),
};

export type NatsFiles = z.input<z.ZodObject<typeof natsFileVariables>>;

export const natsFilesOf = (config: NatsFiles): NatsFiles =>
  z.object(natsFileVariables).parse(config);

/**
 * The path from which a process can read a file that only root can: systemd passes it as a
 * credential of the same name (systemd.exec(5), LoadCredential=).
 */
export function resolveCredential(path: string, directory: string | undefined): string {
  if (directory === undefined) return path;
  const passed = join(directory, basename(path));
  return existsSync(passed) ? passed : path;
}

const claims = z.object({ name: z.string().default("") });

/** The JWT of a credentials file: three parts of base64url. */
const JWT = /^[\w-]+\.([\w-]+)\.[\w-]+$/m;

/** The name of the user in a credentials file. Throws when it has no JWT. */
export function readUserName(credentials: string): string {
  const payload = JWT.exec(credentials)?.[1];
  if (payload === undefined) throw new Error("NATS_CREDS: the file has no JWT of a user.");
  return claims.parse(JSON.parse(Buffer.from(payload, "base64url").toString())).name;
}
