/** A far region is cut off: it goes on from its mirror, and has everything soon afterwards. */
import { call } from "../../harness/api.ts";
import { eventually } from "../../harness/eventually.ts";
import {
  createRegionLinks,
  expectAged,
  expectNow,
  original,
  type RegionLink,
} from "../checks/regions.ts";
import type { Traffic } from "../loads/traffic.ts";
import type { Fault, RunSettings } from "../parts.ts";
import type { TwoRegions } from "../topologies/two-regions.ts";

const RECOVERY_MS = 60_000;

const cutMs = ({ long }: RunSettings): number => (long ? 60_000 : 6_000);

/** Between two rounds of requests while the region is cut off. */
const PAUSE_MS = 200;

/** Links that are asked for all the time, and others that nobody has asked for yet. */
const ASKED = 12;
const OTHERS = 100;

export const REGION_FAULTS: readonly Fault<TwoRegions, Traffic>[] = [
  {
    name: "cut off",
    async inject({ topology, settings }) {
      const key = await topology.createKey();
      const links = await createRegionLinks(topology, key, OTHERS + ASKED);
      // Hosts that have the last ones have all.
      const [others, asked] = [links.slice(0, OTHERS), links.slice(OTHERS)];
      const [changed, removed] = asked;
      if (changed === undefined || removed === undefined) throw new Error("There must be links.");
      for (const far of topology.farRedirectors())
        await eventually(() => expectNow(far, asked, original), RECOVERY_MS);

      const path = ({ id }: RegionLink) => `${topology.apis()[0]}/v1/links/${id}`;
      const body = { url: "https://example.com/changed" };
      topology.host.cut();
      try {
        const cutAt = performance.now();
        await call(path(changed), { key, method: "PATCH", body });
        await call(path(removed), { key, method: "DELETE" });
        while (performance.now() - cutAt < cutMs(settings)) {
          for (const far of topology.farRedirectors()) await expectNow(far, asked, original);
          await Bun.sleep(PAUSE_MS);
        }
        for (const far of topology.farRedirectors()) {
          await expectNow(far, others, original);
          await expectAged(far, cutMs(settings));
        }
      } finally {
        topology.host.mend();
      }

      const mendedAt = performance.now();
      const expected = (link: RegionLink): string => {
        if (link === removed) return "404";
        return link === changed ? `302 ${body.url}` : original(link);
      };
      for (const far of topology.farRedirectors())
        await eventually(() => expectNow(far, asked, expected), RECOVERY_MS);
      const seconds = ((performance.now() - mendedAt) / 1_000).toFixed(1);
      settings.log(`changes had arrived ${seconds} s after the regions were connected again`);
    },
  },
];
