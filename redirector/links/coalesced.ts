/** Coalesces calls of a function, so that however many ask, one call runs at a time. */

/**
 * Each caller gets the result of a call that began after it asked: it joins the one that begins next, and never the one
 * that runs already, whose answer may be older than what the caller knows.
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
