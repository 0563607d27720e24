/** People who change links while something is broken. */

/** The pause between two changes, and before one is tried again. */
export const CHANGE_PAUSE_MS = 200;

/** Changes of one link at a time, for as long as the system is used. */
export type Changes = {
  /** Does something while no change is on its way. */
  without<T>(work: () => Promise<T>): Promise<T>;
  /** Ends them; returns how many were acknowledged. */
  stop(): Promise<number>;
};

/** Changes links, one after the other; `changeOne` returns whether that was acknowledged. */
export function startChanges(changeOne: (isStopped: () => boolean) => Promise<boolean>): Changes {
  let stopped = false;
  let acknowledged = 0;
  let last: Promise<void> = Promise.resolve();
  const queue = <T>(work: () => Promise<T>): Promise<T> => {
    const done = last.then(work);
    last = done.then(
      () => undefined,
      () => undefined,
    );
    return done;
  };
  const isStopped = () => stopped;
  const running = (async () => {
    while (!stopped) {
      await queue(async () => void ((await changeOne(isStopped)) && acknowledged++));
      await Bun.sleep(CHANGE_PAUSE_MS);
    }
  })();
  return {
    without: queue,
    async stop() {
      stopped = true;
      await running;
      return acknowledged;
    },
  };
}
