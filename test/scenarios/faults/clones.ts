/** What virtual machines add: a host exists twice, or comes back with the disk of another one. */
import { mkdtempSync, renameSync } from "node:fs";
import { join } from "node:path";

import { copyFiles } from "../../harness/templates.ts";
import type { HostTraffic } from "../loads/host-traffic.ts";
import type { Fault } from "../parts.ts";
import { stopStores } from "../topologies/stores.ts";
import type { TwoHosts } from "../topologies/two-hosts.ts";

/** How long clicks gather in the journal before the host is cloned. */
const GATHER_MS = 3_000;

/** Redirects of the clone, for each link. */
const CLONE_REDIRECTS = 20;

export const CLONES: readonly Fault<TwoHosts, HostTraffic>[] = [
  {
    name: "a host is cloned while clicks wait in its journal, and both publish them",
    async inject({ topology, load }) {
      const clone = mkdtempSync(join(topology.stack.dataDir, "clone-"));
      await stopStores(topology, ["nats"], async () => {
        await Bun.sleep(GATHER_MS);
        await topology.killOther();
        for (const name of ["journal", "links"])
          copyFiles(join(topology.otherDir, name), join(clone, name));
      });
      const [, second] = await Promise.all([
        topology.restartOther(),
        topology.startThird({
          JOURNAL_DIR: join(clone, "journal"),
          LINKS_DIR: join(clone, "links"),
        }),
      ]);
      for (let i = 0; i < CLONE_REDIRECTS; i++)
        for (const link of load.redirects?.links ?? [])
          await load.redirects?.follow(second.url, link);
      await topology.hold();
      await topology.expectRight(second);
      await second.stop();
    },
  },
  {
    name: "two hosts come back with the links stores of each other",
    async inject({ topology }) {
      const [first, other] = [join(topology.stack.dataDir, "links"), topology.otherLinks];
      const aside = `${first}.aside`;
      await topology.stopProcess("redirector", () =>
        topology.stopOther(async () => {
          await topology.followed.delete();
          renameSync(first, aside);
          renameSync(other, first);
          renameSync(aside, other);
        }),
      );
      await topology.hold();
    },
  },
];
