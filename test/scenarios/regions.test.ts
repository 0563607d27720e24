/**
 * Goal: a far region redirects from its own mirror, also when it is cut off, and its clicks are
 * counted once. `bun run test:regions` cuts it off for longer, and with other versions of
 * nats-server.
 */
import { test } from "bun:test";

import { LINKS_BEFORE_SHORT } from "../harness/bulk-links.ts";
import { ownNatsServer } from "../harness/nats-versions.ts";
import { canCreateNetworkHosts } from "../harness/netns.ts";
import { runRegions } from "../regions/run.ts";

const CUT_MS = 6_000;

const possible = canCreateNetworkHosts();
if (!possible)
  console.warn("\n!!! Network namespaces are not permitted here: regions are NOT TESTED\n");

test.skipIf(!possible)(
  "a far region answers from its mirror without asking the hub, goes on when it is cut off, and catches up",
  async () => {
    await runRegions({
      program: await ownNatsServer(),
      cutMs: CUT_MS,
      links: LINKS_BEFORE_SHORT,
      log: console.log,
    });
  },
);
