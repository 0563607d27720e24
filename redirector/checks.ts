/** Checks of a redirector by `shorthop config check` and `shorthop doctor`. */
import { accessSync, constants, mkdirSync } from "node:fs";

import { CLICKS_STREAM, LIMITS_STREAM } from "../shared/contracts/streams.ts";
import { LINK_LOG_STREAM } from "../shared/links-log/tail.ts";
import { checkRunning, type Checks } from "../shared/preflight.ts";
import { checkNats, checkStreams } from "../shared/stream-checks.ts";
import { checkDatabases } from "../shared/visitors/geo.ts";
import { type Config, linksDirOf, METRICS_PORTS } from "./config.ts";
import { ErrorPages } from "./pages/error-pages.ts";

export const checks: Checks<Config> = {
  required: (config) => [
    checkNats(config.NATS_URL, config),
    {
      name: "JOURNAL_DIR",
      mend: "Make it a directory that the process may write to.",
      run: () => requireWritable(config.JOURNAL_DIR),
    },
    {
      name: "LINKS_DIR",
      mend: "Make it a directory on a local disk that the process may write to.",
      run: () => requireWritable(linksDirOf(config)),
    },
    {
      name: "PAGE_TEMPLATE_FILE",
      mend: "Correct the template, or leave the variable empty.",
      run: async () => void (await ErrorPages.load(config)),
    },
    checkDatabases(config.GEOIP_DATABASES),
  ],
  thorough: ({ NATS_URL, NATS_REPLICAS, ...config }) => [
    ...checkStreams({
      url: NATS_URL,
      files: config,
      streams: [LINK_LOG_STREAM, CLICKS_STREAM, LIMITS_STREAM],
      replicas: NATS_REPLICAS,
    }),
    checkRunning(
      "redirector",
      config.REDIRECTOR_METRICS_HOST,
      config.REDIRECTOR_METRICS_PORT,
      METRICS_PORTS,
    ),
  ],
};

/** Creates a directory unless it exists; throws when the process may not write to it. */
function requireWritable(dir: string): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  accessSync(dir, constants.W_OK);
}
