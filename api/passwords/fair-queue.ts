/**
 * A bounded queue of costly jobs in two lanes. The urgent lane has priority and may use every slot.
 * The fair lane leaves one slot free for it and serves its keys round-robin. So a key with many
 * jobs delays another key by at most one of them, besides those already running.
 */

export type FairQueueBounds = {
  /** Maximum concurrent jobs; the fair lane uses one slot less, but at least one. */
  slots: number;
  urgentWaitingMax: number;
  fairWaitingMax: number;
  /** Maximum waiting jobs of one key. */
  fairWaitingPerKeyMax: number;
};

export type FairQueue = {
  /** Runs a job in the urgent lane; rejects with the error of `full` when too many wait. */
  urgent<T>(work: () => Promise<T>): Promise<T>;
  /** Runs a job of a key, such as an account, in the fair lane; rejects likewise. */
  fair<T>(key: string, work: () => Promise<T>): Promise<T>;
  /** The number of jobs that have not started. */
  waiting(): number;
};

type Lane = "urgent" | "fair";
type Job = () => Promise<unknown>;

/** `full` creates the error of a rejected job. */
export function createFairQueue(bounds: FairQueueBounds, full: () => Error): FairQueue {
  const fairSlots = Math.max(1, bounds.slots - 1);
  const urgent: Job[] = [];
  /** Waiting jobs by key, in the order of the keys' turns; keys without a job are removed. */
  const fair = new Map<string, Job[]>();
  const running = { urgent: 0, fair: 0 };
  let fairWaiting = 0;

  function nextFair(): Job | undefined {
    if (running.fair >= fairSlots) return undefined;
    const [turn] = fair;
    if (turn === undefined) return undefined;
    const [key, jobs] = turn;
    const job = jobs.shift();
    // Moves the key to the end, or removes it.
    fair.delete(key);
    if (jobs.length > 0) fair.set(key, jobs);
    fairWaiting--;
    return job;
  }

  function start(lane: Lane, job: Job): void {
    running[lane]++;
    const done = () => {
      running[lane]--;
      startNext();
    };
    job().then(done, done);
  }

  function startNext(): void {
    while (running.urgent + running.fair < bounds.slots) {
      const first = urgent.shift();
      if (first !== undefined) {
        start("urgent", first);
        continue;
      }
      const job = nextFair();
      if (job === undefined) return;
      start("fair", job);
    }
  }

  /** Adds a job to a lane with `add`; settles as `work` does. */
  function enqueue<T>(work: () => Promise<T>, add: (job: Job) => void): Promise<T> {
    const { job, settled } = toJob(work);
    add(job);
    startNext();
    return settled;
  }

  return {
    async urgent(work) {
      if (urgent.length >= bounds.urgentWaitingMax) throw full();
      return await enqueue(work, (job) => void urgent.push(job));
    },
    async fair(key, work) {
      const jobs = fair.get(key) ?? [];
      if (fairWaiting >= bounds.fairWaitingMax || jobs.length >= bounds.fairWaitingPerKeyMax) {
        throw full();
      }
      return await enqueue(work, (job) => {
        jobs.push(job);
        fair.set(key, jobs);
        fairWaiting++;
      });
    },
    waiting: () => urgent.length + fairWaiting,
  };
}

/** A job that never fails, and a promise that settles as `work` does. */
function toJob<T>(work: () => Promise<T>): { job: Job; settled: Promise<T> } {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  return {
    // Also catches what `work` throws before it returns a promise.
    async job() {
      try {
        resolve(await work());
      } catch (error) {
        reject(error);
      }
    },
    settled: promise,
  };
}
