/** ClickHouse: what is lost of it is in a backup, or still in the stream. */
import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

import { ClickHouseBackup } from "../../../../cli/machines/backup/clickhouse.ts";
import { Directory } from "../../../../cli/machines/backup/storage.ts";
import { CLICKS_STREAM, CLICKS_WORKER } from "../../../../shared/contracts/streams.ts";
import { connectClickHouse } from "../../../../worker/clickhouse.ts";
import { runSql } from "../../../harness/admin.ts";
import { eventually } from "../../../harness/eventually.ts";
import { flipBit } from "../../../harness/flip-bit.ts";
import { copyStore, stopStores, storeDir } from "../../topologies/stores.ts";
import { withJetStream } from "../../topologies/topology.ts";
import type { TwoHosts } from "../../topologies/two-hosts.ts";
import type { Drills } from "./drill.ts";
import { expireStream } from "./processes.ts";
import { breakDisk, fillDisk } from "./store-disks.ts";

const NAMED = /worker: (clicks|counters)|ClickHouse|CLICKHOUSE|ShorthopClicksLag/;

/** What a first backup begins with. */
const NOTHING = { clicks: [], rollups: [], failures: [] };

const STARTED_MS = 30_000;

const waitUntilResponds = (system: TwoHosts): Promise<void> =>
  eventually(async () => void (await runSql(system.clickhouseUrl(), "SELECT 1")), STARTED_MS);

/** Has all clicks of the stream delivered again: those that ClickHouse lacks are stored. */
const deleteConsumer = (system: TwoHosts): Promise<boolean> =>
  withJetStream(system.connectNats(), ({ consumers }) =>
    consumers.delete(CLICKS_STREAM, CLICKS_WORKER),
  );

/** Carries out a procedure of docs/operations.md on another ClickHouse, while no worker runs. */
const restore = (
  system: TwoHosts,
  replace: () => void,
  procedure: () => Promise<void>,
): Promise<void> =>
  system.stopProcess("worker", async () => {
    await stopStores(system, ["clickhouse"], replace);
    await waitUntilResponds(system);
    await procedure();
    await deleteConsumer(system);
  });

/** As of a backup: files of a server that has stopped, with clicks that NATS will deliver again. */
async function copyClickHouse(system: TwoHosts): Promise<() => void> {
  await system.rest();
  const putBack = await copyStore(system, "clickhouse");
  await waitUntilResponds(system);
  await system.rest();
  return putBack;
}

const restoreCopy = (system: TwoHosts, putBack: () => void): Promise<void> =>
  restore(
    system,
    putBack,
    async () => void (await runSql(system.clickhouseUrl(), "TRUNCATE TABLE batches")),
  );

/** The largest file with clicks. */
function largestPart(dir: string): string {
  const files = readdirSync(dir, { recursive: true, encoding: "utf8" })
    .filter((name) => /store\/.*\.bin$/.test(name))
    .map((name) => join(dir, name));
  const [largest] = files.toSorted((a, b) => statSync(b).size - statSync(a).size);
  if (largest === undefined) throw new Error("ClickHouse has no parts.");
  return largest;
}

export const CLICKHOUSE_DRILLS = {
  "older copy": {
    promise:
      "Restored as in [operations](operations.md#backup-and-restore): clicks since the backup come from `CLICKS`, 72 hours of it.",
    async inject(system) {
      await restoreCopy(system, await copyClickHouse(system));
      await system.rest();
    },
  },
  empty: {
    promise:
      "`migrate` and `restore`: clicks and rollups of the backup, also of clicks that retention has deleted, and those of `CLICKS`.",
    named: NAMED,
    async inject(system) {
      const dumps = new Directory(join(system.dir, "dumps"));
      const clickhouse = connectClickHouse(system.clickhouseUrl());
      const parts = await new ClickHouseBackup(clickhouse, dumps).dump(NOTHING, "drill");
      await clickhouse.close();
      const dir = storeDir(system, "clickhouse");
      await stopStores(system, ["clickhouse"], () => rmSync(dir, { recursive: true }));
      await system.hold();
      const restoreParts = async (): Promise<void> => {
        await system.doctor.run(["migrate"]);
        const empty = connectClickHouse(system.clickhouseUrl());
        await new ClickHouseBackup(empty, dumps).restore(parts);
        await empty.close();
      };
      await restore(system, () => undefined, restoreParts);
      await system.rest();
    },
  },
  "disk full": {
    promise:
      "Clicks wait in `CLICKS`, and are stored when there is room. Redirects and links are not affected.",
    named: /disk of ClickHouse is full/,
    inject: fillDisk("clickhouse"),
  },
  "read-only": {
    promise:
      "Clicks wait in `CLICKS`, and are stored when the disk is mended and ClickHouse started again.",
    named: NAMED,
    inject: breakDisk("clickhouse"),
  },
  "one bit flipped": {
    promise:
      "ClickHouse's checksums name the part; counts from it fail with 503, until ClickHouse is restored.",
    named: NAMED,
    async inject(system) {
      const putBack = await copyClickHouse(system);
      const dir = storeDir(system, "clickhouse");
      await stopStores(system, ["clickhouse"], () => flipBit(largestPart(dir)));
      await system.hold();
      await restoreCopy(system, putBack);
      await system.rest();
    },
  },
  "away longer than every retention": {
    promise: "Lost: clicks that have waited for 72 hours in `CLICKS`, and no others.",
    named: NAMED,
    async inject(system) {
      const lost = await stopStores(system, ["clickhouse"], async () => {
        await system.hold();
        return await expireStream(system, "all");
      });
      await system.rest();
      return lost;
    },
  },
} satisfies Drills;
