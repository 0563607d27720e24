/** Checks of a redirector by `shorthop config check` and `shorthop doctor`. */
import { accessSync, constants, mkdirSync } from "node:fs";

import { CLICKS_STREAM, LIMITS_STREAM } from "../shared/contracts/streams.ts";
import { LINK_LOG_STREAM } from "../shared/links-log/tail.ts";
import { probeNats } from "../shared/nats.ts";
import { checkRunning, type Checks } from "../shared/preflight.ts";
import { checkStreams } from "../shared/stream-checks.ts";
import { type Config, linksDirOf, METRICS_PORTS } from "./config.ts";
import { ErrorPages } from "./pages/error-pages.ts";
import { RuleGeo } from "./visitors/request-facts.ts";

export const checks: Checks<Config> = {
  required: (config) => [
    {
      name: "NATS_URL",
      mend: "Start NATS with JetStream and the users of nats/users.conf.",
      run: probeNats(config.NATS_URL, config),
    },
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
    {
      name: "GEOIP_DATABASES",
      mend: "Put an MMDB file there (shorthop geoip update), or leave the variable empty.",
      run: async () =>
        void (await RuleGeo.open(config.GEOIP_DATABASES, (path, cause) => {
          throw new Error(`${path} cannot be read`, { cause });
        })),
    },
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
