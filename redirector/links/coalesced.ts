/** Coalesces concurrent calls of a function into one call at a time. */

/**
 * Each caller gets the result of a call that began after its own: it joins the next call, never the
 * running one, whose result may be outdated for it.
 */
export function createCoalesced<Result>(call: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<unknown> | undefined;
  let next: Promise<Result> | undefined;

  function start(): Promise<Result> {
    const result = call();
    const settled = result.then(
      () => undefined,
      () => undefined,
    );
    running = settled;
    void settled.then(() => {
      if (running === settled) running = undefined;
    });
    return result;
  }

  return () => {
    if (running === undefined) return start();
    next ??= running.then(() => {
      next = undefined;
      return start();
    });
    return next;
  };
}
