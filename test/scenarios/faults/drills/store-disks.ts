/** Full and read-only disks of the stores of a stack. */
import { type Disk, moveToDisk } from "../../../harness/disks.ts";
import { stopStores, type Store, storeDir, withoutSupervisor } from "../../topologies/stores.ts";
import type { TwoHosts } from "../../topologies/two-hosts.ts";
import type { Drill } from "./drill.ts";

/** Moves a store's data to a disk of its own. */
async function giveDisk(
  system: TwoHosts,
  store: Store,
  prepare: (dir: string) => void = () => undefined,
): Promise<Disk> {
  let disk: Disk | undefined;
  await stopStores(system, [store], () => {
    const dir = storeDir(system, store);
    prepare(dir);
    disk = moveToDisk(dir, system.onDispose);
  });
  if (disk === undefined) throw new Error("There is no disk.");
  return disk;
}

/** Longer than clicks or changes wait before processes warn of that: a minute. */
const NOTICED_MS = 100_000;

type Step = (system: TwoHosts) => Promise<void>;

const nothing: Step = () => Promise.resolve();

/**
 * A disk that is full until there is room again: `use` writes meanwhile what needs room, `end` is
 * what follows.
 */
export const fillDisk =
  (
    store: Store,
    { use = nothing, end = nothing }: { use?: Step; end?: Step } = {},
  ): Drill["inject"] =>
  async (system) => {
    const disk = await giveDisk(system, store);
    await system.rest();
    system.listener.forget();
    disk.fill();
    await use(system);
    await system.hold(NOTICED_MS);
    disk.free();
    await end(system);
    await system.rest();
  };

/**
 * A disk that refuses writes, until it is mended and the store is started again, by an operator.
 */
export const breakDisk =
  (store: Store, prepare?: (dir: string) => void): Drill["inject"] =>
  async (system) => {
    const disk = await giveDisk(system, store, prepare);
    await system.rest();
    system.listener.forget();
    await withoutSupervisor(
      system,
      store,
      async () => {
        disk.breakWrites();
        await system.hold(NOTICED_MS);
      },
      disk.mend,
    );
    await system.rest();
  };
