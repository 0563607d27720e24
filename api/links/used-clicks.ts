/**
 * Reads the number of used clicks from the ledgers of click limits. Only redirectors change
 * ledgers.
 */
import { decodeLedger, EMPTY_LEDGER, usedClicks } from "../../shared/contracts/click-limits.ts";
import { LIMITS_STREAM, limitSubject, readMessage } from "../../shared/contracts/streams.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { Nats } from "../../shared/nats.ts";

/** Maximum wait of a response; after that it contains ClickHouse's count. */
const TIMEOUT_MS = 500;

export interface UsedClicks {
  /**
   * Reads the number of used clicks of a limit, which has counted `before` others; undefined when
   * that is not known at present.
   */
  read(limit: { id: Uuid; before: number }): Promise<number | undefined>;
}

/** Reads ledgers from NATS. */
export class NatsUsedClicks implements UsedClicks {
  readonly #nats: Nats;
  readonly #log: Log;

  constructor(nats: Nats, log: Log) {
    this.#nats = nats;
    this.#log = log;
  }

  async read({ id, before }: { id: Uuid; before: number }): Promise<number | undefined> {
    if (!this.#nats.connected()) return undefined;
    const limit = { id, before, stored: 0, max: 0 };
    try {
      const options = { timeout: TIMEOUT_MS, checkAPI: false };
      const manager = await (await this.#nats.connection).jetstreamManager(options);
      const query = { last_by_subj: limitSubject(id) };
      const message = await readMessage(manager, LIMITS_STREAM, query);
      return usedClicks(message === undefined ? EMPTY_LEDGER : decodeLedger(message.data), limit);
    } catch (error) {
      this.#log.debug({ error }, "used_clicks_not_read");
      return undefined;
    }
  }
}
