/** `shorthop doctor` of a drill's stack, as an operator runs it on the host concerned. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import * as z from "zod";

import { publicKeyOf } from "../../../shared/links-log/signature.ts";
import { findingSchema } from "../../../shared/preflight.ts";
import { runAdmin } from "../../harness/admin.ts";
import { SIGNING_KEY } from "../../harness/links-log.ts";
import type { Stack } from "../../harness/stack.ts";

/** Raw clicks are deleted after so many days, so the history of a drill is in rollups only. */
export const CLICKS_RETENTION_DAYS = "30";

const findings = z.array(findingSchema.extend({ subject: z.string() }));

const portOf = (url: string): string => new URL(url).port;

type Folders = { JOURNAL_DIR: string; LINKS_DIR: string; GEOIP_DATABASES: string };

export class Doctor {
  readonly #stack: Stack;
  readonly #env: Readonly<Record<string, string>>;
  /** What it found at the start. */
  #before: ReadonlySet<string> = new Set();

  /**
   * Examines the stack for the first time. `folders` are those of the other host's redirector,
   * `further` variables of the command, such as the clock of its host.
   */
  static async start(
    stack: Stack,
    folders: Folders,
    further: Record<string, string> = {},
  ): Promise<Doctor> {
    const configDir = writeInstallation(stack, folders);
    const doctor = new Doctor(stack, { SHORTHOP_CONFIG_DIR: configDir, ...further });
    doctor.#before = new Set(await doctor.#examineAll());
    return doctor;
  }

  private constructor(stack: Stack, env: Readonly<Record<string, string>>) {
    this.#stack = stack;
    this.#env = env;
  }

  /** What it finds now and did not find at the start, a line for each problem, with the remedy. */
  async examine(): Promise<string[]> {
    return (await this.#examineAll()).filter((line) => !this.#before.has(line));
  }

  /**
   * Runs another command of the command line, as on a host of the installation. Throws when it
   * fails.
   */
  async run(args: readonly string[]): Promise<void> {
    const { code, stderr } = await runAdmin(this.#stack, args, this.#env);
    if (code !== 0) throw new Error(`shorthop ${args.join(" ")}: ${stderr}`);
  }

  async #examineAll(): Promise<string[]> {
    const { stdout, stderr } = await runAdmin(this.#stack, ["doctor", "--json"], this.#env);
    if (stdout === "") throw new Error(`doctor: ${stderr}`);
    return findings
      .parse(JSON.parse(stdout))
      .filter(({ status }) => status !== "ok")
      .map(
        ({ subject, check, status, detail = "", mend = "" }) =>
          `doctor ${status}: ${subject}, ${check}: ${detail} → ${mend}`,
      );
  }
}

/** Writes the files of an installation for the stack's processes; returns their folder. */
function writeInstallation(stack: Stack, folders: Folders): string {
  const configDir = join(stack.dataDir, "etc");
  mkdirSync(configDir);
  const { database_url, nats_url, clickhouse_url, ...info } = stack.info();
  const stores = { DATABASE_URL: database_url, CLICKHOUSE_URL: clickhouse_url };
  const signingKey = info.links_signing_key ?? SIGNING_KEY;
  const common = { NATS_URL: nats_url, SHORT_URL: info.short_url };
  const files: Record<string, Record<string, string>> = {
    migrate: { ...stores, CLICKS_RETENTION_DAYS },
    api: {
      ...stores,
      ...common,
      LINKS_SIGNING_KEY: signingKey,
      API_METRICS_PORT: portOf(info.api_metrics_url),
    },
    worker: {
      ...stores,
      ...common,
      WORKER_METRICS_PORT: portOf(info.worker_metrics_url),
      VISITOR_HASH_SECRET: "secret of this test",
      GEOIP_DATABASES: folders.GEOIP_DATABASES,
    },
    redirector: {
      ...common,
      ...folders,
      LINKS_PUBLIC_KEYS: publicKeyOf(signingKey),
      REDIRECTOR_METRICS_PORT: portOf(info.redirector_metrics_url),
    },
  };
  for (const [name, variables] of Object.entries(files)) {
    const lines = Object.entries(variables).map(([key, value]) => `${key}=${value}\n`);
    writeFileSync(join(configDir, `${name}.env`), lines.join(""));
  }
  return configDir;
}
