/** Repeats work with a pause between two times, until it is stopped. */
export type Repetition = { stop(): void };

/** `work` handles its errors, and returns the milliseconds until the next time. */
export function repeat(work: () => Promise<number>): Repetition {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  async function run(): Promise<void> {
    const pauseMs = await work();
    if (!stopped) timer = setTimeout(() => void run(), pauseMs);
  }

  void run();
  return {
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
