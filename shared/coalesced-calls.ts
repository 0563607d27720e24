/**
 * Shares calls between concurrent callers. Who asks while a call is in flight shares the next one,
 * so what a caller gets is never older than its question.
 */

type Caller<Item, Value> = {
  item: Item;
  resolve: (value: Value) => void;
  reject: (error: unknown) => void;
};

export class CoalescedCalls<Item, Value> {
  readonly #call: (items: readonly [Item, ...Item[]]) => Promise<Value>;
  readonly #sizeMax: number;
  readonly #sizeOf: (item: Item) => number;
  /** Who waits for the next call, by key; those of a key without callers are absent. */
  readonly #waiting = new Map<string, Caller<Item, Value>[]>();

  /**
   * `call` gets the items of its callers, in the order in which they asked: as many as have
   * `sizeMax` together, or a single one. If it throws for one of them, it does for all.
   */
  constructor(
    call: (items: readonly [Item, ...Item[]]) => Promise<Value>,
    sizeMax = Infinity,
    sizeOf: (item: Item) => number = () => 1,
  ) {
    this.#call = call;
    this.#sizeMax = sizeMax;
    this.#sizeOf = sizeOf;
  }

  /**
   * Resolves with the value of a call that has the item and begins from now on; throws what it
   * throws. Who asks in the same turn of the event loop, or while a call for the key is in flight,
   * shares the next one. Calls for different keys do not wait for each other.
   */
  run(item: Item, key = ""): Promise<Value> {
    return new Promise((resolve, reject) => {
      const caller = { item, resolve, reject };
      const waiting = this.#waiting.get(key);
      if (waiting === undefined) void this.#serve(key, [caller]);
      else waiting.push(caller);
    });
  }

  async #serve(key: string, waiting: Caller<Item, Value>[]): Promise<void> {
    this.#waiting.set(key, waiting);
    // Others may ask in this turn.
    await Promise.resolve();
    while (waiting.length > 0) {
      const callers = this.#takeNext(waiting);
      try {
        const items = callers.map(({ item }) => item);
        // At least one waits.
        const value = await this.#call(items as [Item, ...Item[]]);
        for (const { resolve } of callers) resolve(value);
      } catch (error) {
        for (const { reject } of callers) reject(error);
      }
    }
    this.#waiting.delete(key);
  }

  #takeNext(waiting: Caller<Item, Value>[]): Caller<Item, Value>[] {
    let size = 0;
    const end = waiting.findIndex(
      ({ item }, i) => (size += this.#sizeOf(item)) > this.#sizeMax && i > 0,
    );
    return waiting.splice(0, end < 0 ? waiting.length : end);
  }
}
