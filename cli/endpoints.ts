/** Finds the URLs of the stores and processes that the command line works on. */
import { existsSync } from "node:fs";
import { join } from "node:path";

import * as z from "zod";

import { configDirOf, openEnvironmentFiles } from "./environment-files.ts";

const stackFile = z.record(z.string(), z.unknown());

type Env = Record<string, string | undefined>;

type Variable =
  | "DATABASE_URL"
  | "NATS_URL"
  | "CLICKHOUSE_URL"
  | "REDIRECTOR_METRICS_URL"
  | "DASHBOARD_URL"
  | "LINKS_SIGNING_KEY";

/** Processes whose environment files contain store URLs, in order of increasing rights. */
const INSTALLED = ["api", "worker"];

/** A URL, and the variables beside it, which may say more of how to connect. */
type Source = { url: string; variables: Env };

export const findUrl = async (env: Env, variable: Variable): Promise<string> =>
  (await findSource(env, variable)).url;

/**
 * Returns the environment variable if set, else that of an installation's files, else the URL from
 * the running local stack (`stack.json`, under the variable's name in lower case). Throws an error
 * that explains the remedy if there is none.
 */
export async function findSource(env: Env, variable: Variable): Promise<Source> {
  const files = openEnvironmentFiles(env);
  for (const variables of [env, ...INSTALLED.map(files.read)]) {
    const url = variables[variable] ?? "";
    if (url !== "") return { url, variables };
  }
  const root = join(import.meta.dir, "..");
  const path = join(env["SHORTHOP_DATA_DIR"] ?? join(root, ".local"), "stack.json");
  const file = Bun.file(path);
  if (!(await file.exists())) throw new Error(describeMissing(env, variable, path));
  const url = z.string().parse(stackFile.parse(await file.json())[variable.toLowerCase()]);
  return { url, variables: {} };
}

/**
 * Explains how to provide a missing URL, which differs between an installation and the source tree.
 */
function describeMissing(env: Env, variable: Variable, stackPath: string): string {
  const dir = configDirOf(env);
  if (!existsSync(dir))
    return `Set ${variable}, or start the local stack (${stackPath} does not exist).`;
  const names = INSTALLED.map((name) => `${name}.env`).join(" or ");
  return `No ${names} in ${dir} that this user may read has ${variable}: run this as root, on a host with such a file, or set ${variable}.`;
}
