/** Connections that a worker has to each receiving address, for all webhooks of all accounts. */
import { addressGroups } from "../../shared/address-group.ts";

/**
 * Most connections to one address; and to those of webhooks that have not been successful, which
 * may be anybody's: the address of someone who asked for nothing.
 */
const PROVEN_MAX = 50;
const UNPROVEN_MAX = 25;

/** No attempt was made: too many connections to the receiver's address are open. */
export class AddressBusy extends Error {
  override name = "AddressBusy";
}

export class Connections {
  readonly #open = new Map<string, number>();

  /** Runs work with a connection to an address; throws {@link AddressBusy} if it has too many. */
  async run<T>(address: string, isProven: boolean, work: () => Promise<T>): Promise<T> {
    // The others do not take the places of webhooks that are known to work.
    const key = `${isProven} ${addressGroups(address).network}`;
    const open = this.#open.get(key) ?? 0;
    if (open >= (isProven ? PROVEN_MAX : UNPROVEN_MAX)) throw new AddressBusy();
    this.#open.set(key, open + 1);
    try {
      return await work();
    } finally {
      const left = (this.#open.get(key) ?? 0) - 1;
      if (left === 0) this.#open.delete(key);
      else this.#open.set(key, left);
    }
  }
}
