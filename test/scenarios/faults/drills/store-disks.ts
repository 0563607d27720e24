/** Full and read-only disks of the stores of a stack. */
import { type Disk, moveToDisk } from "../../../harness/disks.ts";
import { isRunning } from "../../../harness/process-usage.ts";
import { pidOf, waitUntilEnded, withoutSupervisor } from "../../../harness/services.ts";
import { stopStores, type Store, storeDir } from "../../topologies/stores.ts";
import type { TwoHosts } from "../../topologies/two-hosts.ts";
import type { Drill } from "./drill.ts";

/** Moves a store's data to a disk of its own, and forgets what was said until then. */
async function giveDisk(
  system: TwoHosts,
  store: Store,
  prepare: (dir: string) => void = () => undefined,
): Promise<Disk> {
  const disk = await stopStores(system, [store], () => {
    const dir = storeDir(system, store);
    prepare(dir);
    return moveToDisk(dir, system.onDispose);
  });
  await system.rest();
  system.listener.forget();
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
    disk.fill();
    await use(system);
    await system.hold(NOTICED_MS);
    disk.free();
    await end(system);
    await system.rest();
  };

/**
 * A disk that refuses writes, until it is mended and the store is started again, by an operator: it
 * may end by itself, and a supervisor gives up when it ends again and again.
 */
export const breakDisk =
  (store: Store, prepare?: (dir: string) => void): Drill["inject"] =>
  async (system) => {
    const { stack } = system;
    const disk = await giveDisk(system, store, prepare);
    await withoutSupervisor(stack, [store], async () => {
      const pid = pidOf(stack, store);
      disk.breakWrites();
      await system.hold(NOTICED_MS);
      if (isRunning(pid)) process.kill(pid, "SIGKILL");
      await waitUntilEnded(pid);
      disk.mend();
    });
    await system.rest();
  };
