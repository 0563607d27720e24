/** Shares one call between concurrent callers for the same key. */

type Pending<Value> = { current: Promise<Value>; next?: Promise<Value> };

export class CoalescedCalls<Value> {
  readonly #pending = new Map<string, Pending<Value>>();

  /**
   * Runs `call` for a key, at most once at a time. Callers that arrive while one is in flight share
   * the next one, so none gets what was read before it asked. Throws what `call` throws.
   */
  run(key: string, call: () => Promise<Value>): Promise<Value> {
    const pending = this.#pending.get(key);
    if (pending === undefined) return this.#start(key, call);
    const startNext = () => this.#start(key, call);
    return (pending.next ??= pending.current.then(startNext, startNext));
  }

  /** As {@link run}, but shares the call in flight: for values that may be a moment old. */
  join(key: string, call: () => Promise<Value>): Promise<Value> {
    return this.#pending.get(key)?.current ?? this.#start(key, call);
  }

  #start(key: string, call: () => Promise<Value>): Promise<Value> {
    const pending: Pending<Value> = { current: call() };
    this.#pending.set(key, pending);
    const end = () => {
      if (pending.next === undefined) this.#pending.delete(key);
    };
    pending.current.then(end, end);
    return pending.current;
  }
}
