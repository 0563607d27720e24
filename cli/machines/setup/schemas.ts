/** The schemas of PostgreSQL and ClickHouse, which the processes migrate themselves. */
import * as z from "zod";

import { findingSchema } from "../../../shared/preflight.ts";
import { openEnvironmentFiles } from "../../environment-files.ts";
import { commandOf } from "../processes.ts";
import type { Step } from "./step.ts";
import { mustRun, type System } from "./system.ts";

type Env = Record<string, string | undefined>;

/** What `doctor-migrate` says of a schema that is behind. */
const BEHIND = /^Run shorthop migrate/;

/** A worker may not run while ClickHouse is migrated; the step of the services starts it again. */
const STOPPED = { api: undefined, worker: "shorthop-worker" };

/** A step that migrates the schema of a process: `api` PostgreSQL's, `worker` ClickHouse's. */
export const schemaStep = (
  name: string,
  owner: keyof typeof STOPPED,
  system: System,
  isExpected: () => boolean,
): Step => ({
  name,
  async inspect() {
    if (!isExpected()) return [];
    const found = await examine(owner, system);
    if (found !== undefined && !found.some(({ mend }) => BEHIND.test(mend ?? ""))) return [];
    const unit = STOPPED[owner];
    return [
      {
        title: "migrate the schema",
        async apply() {
          if (unit !== undefined) await mustRun(system, ["systemctl", "stop", unit]);
          const env = environment(system);
          await mustRun(system, [...commandOf(owner), "migrate"], { env });
        },
      },
    ];
  },
});

/** The findings about a schema; undefined when they cannot be read, as before the first run. */
async function examine(owner: string, system: System) {
  const { stdout } = await system.run([...commandOf(owner), "doctor-migrate"], {
    env: environment(system),
  });
  try {
    return z.array(findingSchema).parse(JSON.parse(stdout));
  } catch {
    return undefined;
  }
}

function environment(system: System): Env {
  const files = openEnvironmentFiles({ SHORTHOP_CONFIG_DIR: system.path("/etc/shorthop") });
  return files.read("migrate");
}
