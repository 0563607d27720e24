/**
 * Inserts the links of creations. In PostgreSQL those of an account follow one another, as each
 * holds the account's quota until it has committed. So creations that arrive while others are being
 * written are written together after these, with one statement and one commit.
 */
import type { Writer } from "../http/principal.ts";
import { budgets } from "../limits/budgets.ts";
import type { Consumption } from "../limits/quotas.ts";
import { errorCode, isUnavailable, type Sql } from "../postgres.ts";
import { DOMAIN_CHANGED, type Insertion, insertLinks } from "./sql.ts";

/** Links of one statement, unless a single creation has more. */
const LINKS_AT_ONCE = 100;

/** What became of a creation: all of its links are written, or none, as the quota is used up. */
export type Inserted = {
  consumption: Consumption;
  /** Of the links, in their order; undefined if the quota was not granted. */
  versions: number[] | undefined;
};

type Waiting = {
  owner: Writer;
  insertions: readonly Insertion[];
  resolve: (inserted: Inserted) => void;
  reject: (error: unknown) => void;
};

export class LinkInsertions {
  readonly #sql: Sql;
  /** The creations that wait for those in flight, by account and mode. */
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** As {@link insertLinks}, and takes from the account's budgets what is written. */
  insert(owner: Writer, insertions: readonly Insertion[]): Promise<Inserted> {
    return new Promise((resolve, reject) => {
      const creation = { owner, insertions, resolve, reject };
      const key = `${owner.accountId} ${owner.mode}`;
      const waiting = this.#waiting.get(key);
      if (waiting === undefined) void this.#run(key, creation);
      else waiting.push(creation);
    });
  }

  async #run(key: string, first: Waiting): Promise<void> {
    const waiting = [first];
    this.#waiting.set(key, waiting);
    while (waiting.length > 0) await this.#insertTogether(takeNext(waiting));
    this.#waiting.delete(key);
  }

  /**
   * Inserts the links of creations; each half by itself where all together fail, as one of them may
   * have a taken name, or the quota suffices for some.
   */
  async #insertTogether(creations: readonly Waiting[]): Promise<void> {
    const [first] = creations;
    if (first === undefined) return;
    const isOne = creations.length === 1;
    try {
      const insertions = creations.flatMap((creation) => creation.insertions);
      const inserted = await insertLinks(this.#sql, first.owner, insertions);
      const { consumption, ledgerBytes, versions } = inserted;
      if (versions !== undefined) {
        budgets.spend(first.owner, "changed_links", versions.length);
        budgets.spend(first.owner, "ledger_bytes", ledgerBytes);
      }
      const isUsedUp = consumption.used >= consumption.allowed;
      if (versions !== undefined || isUsedUp || isOne)
        return settle(creations, consumption, versions);
    } catch (error) {
      if (isOne || !isOfOne(error)) {
        for (const { reject } of creations) reject(error);
        return;
      }
    }
    const half = creations.length / 2;
    await this.#insertTogether(creations.slice(0, half));
    await this.#insertTogether(creations.slice(half));
  }
}

/** Takes creations with as many links as one statement may have. */
function takeNext(waiting: Waiting[]): Waiting[] {
  let links = 0;
  const end = waiting.findIndex(
    ({ insertions }, i) => (links += insertions.length) > LINKS_AT_ONCE && i > 0,
  );
  return waiting.splice(0, end < 0 ? waiting.length : end);
}

function settle(
  creations: readonly Waiting[],
  consumption: Consumption,
  versions: readonly number[] | undefined,
): void {
  let start = 0;
  for (const { insertions, resolve } of creations) {
    const end = start + insertions.length;
    resolve({ consumption, versions: versions?.slice(start, end) });
    start = end;
  }
}

/** Whether an error may be of one creation, rather than of PostgreSQL. */
const isOfOne = (error: unknown): boolean =>
  errorCode(error) === DOMAIN_CHANGED || !isUnavailable(error);
