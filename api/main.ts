/**
 * The API process. `bun api/main.ts` serves; with `migrate` it migrates the schema and exits, with
 * `check` it reports whether it could start.
 */
import { loadConfig } from "../shared/env.ts";
import { Notifier, ProcessLifecycle, runMain } from "../shared/lifecycle.ts";
import { processLog } from "../shared/log.ts";
import { printCheck, printFindings } from "../shared/preflight.ts";
import { checks, migrateChecks } from "./checks.ts";
import { configSchema, migrateConfigSchema } from "./config.ts";
import { ApiContext } from "./context.ts";
import { migrate } from "./migrations/migrate.ts";
import { runApi } from "./process.ts";

async function serve(): Promise<void> {
  const config = loadConfig(configSchema, process.env);
  const log = processLog("api", config.LOG_LEVEL);
  const notifier = new Notifier(process.env, log);
  runApi(await ApiContext.open(config, new ProcessLifecycle(log, notifier), log));
  notifier.ready();
}

await runMain(
  {
    "": serve,
    migrate: () => migrate(process.env),
    check: () => printCheck(configSchema, process.env, checks),
    doctor: () => printFindings(configSchema, process.env, checks),
    "doctor-migrate": () => printFindings(migrateConfigSchema, process.env, migrateChecks),
  },
  process.argv.slice(2),
);
