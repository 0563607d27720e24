/**
 * `bun run test:regions [--cut SECONDS]`: two regions with 80 ms between them, cut off from each
 * other for a minute; on each version of nats-server that there is.
 */
import { parseArgs } from "node:util";

import { LINKS_BEFORE } from "../harness/bulk-links.ts";
import { laterNatsServer, ownNatsServer } from "../harness/nats-versions.ts";
import { canCreateNetworkHosts } from "../harness/netns.ts";
import { runRegions } from "./run.ts";

const { values } = parseArgs({ options: { cut: { type: "string", default: "60" } } });
if (!canCreateNetworkHosts()) {
  console.warn("\n!!! Network namespaces are not permitted here: regions are NOT TESTED\n");
  process.exit(0);
}
for (const program of [await ownNatsServer(), await laterNatsServer()]) {
  if (program === undefined) continue;
  console.log(`nats-server ${program.version.join(".")}`);
  await runRegions({
    program,
    cutMs: Number(values.cut) * 1_000,
    links: LINKS_BEFORE,
    log: console.log,
  });
}
process.exit(0);
