/**
 * `shorthop setup --restore`: a fresh host with the configuration and the data of a backup, instead
 * of new secrets and a first account.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

import { type Env, parseEnvironment } from "../../installation.ts";
import { unpackConfiguration } from "../backup/backup.ts";
import { readBackup } from "../backup/manifest.ts";
import { storageAt } from "../backup/storage.ts";
import type { Host } from "../host.ts";
import { type DesiredFile, filesStep } from "./files.ts";
import { type Mask, SECRETS_FILE } from "./secrets.ts";
import { SETTINGS_FILE, type Values } from "./settings.ts";
import type { Step } from "./step.ts";

const CONFIG_DIR = "/etc/shorthop";
const PERMISSIONS = 0o7777;

/** What setup needs to know of a backup. */
export type BackedUp = {
  place: string;
  /** Its settings and secrets. */
  values: Values;
  /** The other files of its configuration. */
  files: DesiredFile[];
};

/** Reads the configuration of the newest backup. Throws when it has none that setup has made. */
export async function readBackedUp(place: string, env: Env): Promise<BackedUp> {
  const storage = storageAt(env, place);
  const { name, manifest } = await readBackup(storage);
  const dir = mkdtempSync(join(tmpdir(), "shorthop-restore-"));
  try {
    if (manifest.configuration !== null)
      await unpackConfiguration(storage, manifest.configuration, dir);
    const own = [SETTINGS_FILE, SECRETS_FILE];
    const found = readFiles(dir);
    const texts = own.map((path) => found.find((file) => file.path === path)?.content);
    if (texts.includes(undefined))
      throw new Error(
        `The backup ${name} has no ${own.join(" and ")}: restore it as docs/operations.md says for an installation without setup.`,
      );
    return {
      place,
      values: Object.assign({}, ...texts.map((text) => parseEnvironment(text ?? ""))),
      files: found.filter(({ path }) => !own.includes(path)),
    };
  } finally {
    rmSync(dir, { recursive: true });
  }
}

const readFiles = (dir: string): DesiredFile[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const real = join(entry.parentPath, entry.name);
      return {
        path: join(CONFIG_DIR, relative(dir, real)),
        content: readFileSync(real, "utf8"),
        access: { mode: statSync(real).mode & PERMISSIONS },
      };
    });

/** A step that brings the configuration back to a host that has none yet. */
export function configurationStep({ files }: BackedUp, host: Host, mask: Mask): Step {
  const isFresh = !existsSync(host.path(SECRETS_FILE));
  return filesStep("configuration", host, mask, () => (isFresh ? files : []));
}

/** A step that restores the data while there is no account; `restored` gets the counts. */
export const dataStep = (
  { place }: BackedUp,
  host: Host,
  restored: (counts: string) => void,
): Step => ({
  name: "data",
  async inspect() {
    const { stdout } = await host.psql("shorthop", "select exists (select from accounts);");
    if (stdout.trim() === "t") return [];
    return [
      {
        title: `restore the newest backup of ${place}`,
        async apply() {
          const output = await host.read(["shorthop", "restore", "--from", place]);
          // The others are the log of the migrations.
          restored((output.match(/^\w+\t.*\n/gm) ?? []).join(""));
        },
      },
    ];
  },
});
