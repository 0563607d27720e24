/** Environment files of an installation: one per process, as its systemd unit reads them. */
import { accessSync, constants, readFileSync } from "node:fs";
import { join } from "node:path";

type Env = Record<string, string | undefined>;

/** The directory of an installation's files, unless `SHORTHOP_CONFIG_DIR` is set. */
const CONFIG_DIR = "/etc/shorthop";

export type EnvironmentFiles = {
  /** Whether the installation has a file of this name that the current user may read. */
  has(name: string): boolean;
  /** Returns a file's variables; none if the file does not exist. */
  read(name: string): Record<string, string>;
};

/** The directory of the installation's files. */
export const configDirOf = (env: Env): string => env["SHORTHOP_CONFIG_DIR"] ?? CONFIG_DIR;

export function openEnvironmentFiles(env: Env): EnvironmentFiles {
  const pathOf = (name: string) => join(configDirOf(env), `${name}.env`);
  const has = (name: string): boolean => {
    try {
      accessSync(pathOf(name), constants.R_OK);
      return true;
    } catch {
      return false;
    }
  };
  return {
    has,
    read: (name) => (has(name) ? parseEnvironment(readFileSync(pathOf(name), "utf8")) : {}),
  };
}

/**
 * Parses lines of `NAME=value` as systemd does (systemd.exec(5), EnvironmentFile=), except for
 * values that span lines. Comments begin with `#` or `;`, and a value may be quoted.
 */
export function parseEnvironment(text: string): Record<string, string> {
  const lines = text.split("\n").map((line) => line.trim());
  const pairs = lines
    .filter((line) => !line.startsWith("#") && !line.startsWith(";") && line.includes("="))
    .map((line) => {
      const equals = line.indexOf("=");
      return [line.slice(0, equals).trim(), unquote(line.slice(equals + 1).trim())];
    });
  return Object.fromEntries(pairs);
}

function unquote(value: string): string {
  const quote = value[0];
  const quoted = value.length >= 2 && (quote === '"' || quote === "'") && value.endsWith(quote);
  return quoted ? value.slice(1, -1) : value;
}
