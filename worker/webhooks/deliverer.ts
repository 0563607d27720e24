/**
 * Delivers events to webhooks. Each worker leases webhooks for which there is work, makes their
 * deliveries, and gives them back. What waits is in PostgreSQL; memory holds the queues of the
 * leased ones.
 */
import { newUuid } from "../../shared/ids.ts";
import { repeat } from "../../shared/repeat.ts";
import { createDispatcher, type Dispatcher, type DispatcherDeps } from "./dispatcher.ts";
import { createLook, giveBack } from "./look.ts";

/** Time between two looks for work, and at most, where looking takes long. */
const POLL_MS = 250;
const POLL_MS_MAX = 2_000;

/** Longest time that a stop waits for deliveries in flight, and between two looks at them. */
const STOP_MS = 3_000;
const DRAIN_POLL_MS = 20;

export type DelivererDeps = Omit<DispatcherDeps, "workerId" | "onDisabled"> & {
  /** Hosts of the installation's own short domain. */
  ownHosts: readonly string[];
};

export type Deliverer = {
  /** `ok`, or why the last look for work failed. */
  state(): string;
  /** Webhooks that this worker has leased. */
  leased(): number;
  inFlight(): number;
  /** Webhooks that this worker has disabled. */
  disabled(): number;
  stop(): Promise<void>;
};

export function startDeliverer(deps: DelivererDeps): Deliverer {
  const { log } = deps;
  let disabled = 0;
  let state = "not begun";
  const workerId = newUuid();
  const dispatcher = createDispatcher({ ...deps, workerId, onDisabled: () => (disabled += 1) });
  const { endpoints } = dispatcher;
  const look = createLook({ ...deps, workerId, dispatcher });
  let looking = Promise.resolve();

  const repetition = repeat(async () => {
    const startedAt = performance.now();
    const turn = look();
    looking = turn.catch(() => undefined);
    try {
      await turn;
      state = "ok";
    } catch (error) {
      state = "webhooks wait for PostgreSQL";
      log.warn({ error }, "webhooks_not_read");
    }
    // Looks take at most half of the time: the database has other work.
    return Math.min(POLL_MS_MAX, Math.max(POLL_MS, performance.now() - startedAt));
  });

  return {
    state: () => state,
    leased: () => endpoints.size,
    inFlight: dispatcher.inFlight,
    disabled: () => disabled,
    async stop() {
      void repetition.stop();
      await looking;
      await drain(dispatcher);
      await dispatcher.flush();
      await Promise.allSettled(
        [...endpoints.values()].map((endpoint) => giveBack(deps.sql, workerId, endpoint)),
      );
      endpoints.clear();
    },
  };
}

/** Waits for deliveries in flight, for a while. */
async function drain({ close, inFlight, abort }: Dispatcher): Promise<void> {
  close();
  const until = performance.now() + STOP_MS;
  while (inFlight() > 0 && performance.now() < until) await Bun.sleep(DRAIN_POLL_MS);
  abort();
  // Attempts that were stopped put their deliveries back.
  await Bun.sleep(DRAIN_POLL_MS);
}
