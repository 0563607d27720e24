/** Coalesces concurrent calls of a function into one call at a time. */
export class Coalesced<Result> {
  readonly #call: () => Promise<Result>;
  #running: Promise<unknown> | undefined;
  #next: Promise<Result> | undefined;

  constructor(call: () => Promise<Result>) {
    this.#call = call;
  }

  /**
   * Each caller gets the result of a call that began after its own: it joins the next call, never
   * the running one, whose result may be outdated for it.
   */
  call(): Promise<Result> {
    if (this.#running === undefined) return this.#start();
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      return this.#start();
    });
    return this.#next;
  }

  #start(): Promise<Result> {
    const result = this.#call();
    const settled = result.then(
      () => undefined,
      () => undefined,
    );
    this.#running = settled;
    void settled.then(() => {
      if (this.#running === settled) this.#running = undefined;
    });
    return result;
  }
}
