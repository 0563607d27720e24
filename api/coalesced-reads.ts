/** Shares one read between concurrent callers for the same key. */

type PendingRead<Value> = { current: Promise<Value>; next?: Promise<Value> };

/**
 * Returns a function that runs `read` for a key, at most once at a time. Callers that arrive while
 * a read is in flight share the next one, so none gets a value read before its call. Throws what
 * `read` throws.
 */
export function createCoalescedReads<Value>(): (
  key: string,
  read: () => Promise<Value>,
) => Promise<Value> {
  /** Reads in flight. */
  const readings = new Map<string, PendingRead<Value>>();

  function start(key: string, read: () => Promise<Value>): Promise<Value> {
    const reading: PendingRead<Value> = { current: read() };
    readings.set(key, reading);
    const end = () => {
      if (reading.next === undefined) readings.delete(key);
    };
    reading.current.then(end, end);
    return reading.current;
  }

  return (key, read) => {
    const reading = readings.get(key);
    if (reading === undefined) return start(key, read);
    const startNext = () => start(key, read);
    return (reading.next ??= reading.current.then(startNext, startNext));
  };
}
