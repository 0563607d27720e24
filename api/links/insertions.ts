/**
 * Inserts the links of creations. In PostgreSQL those of an account follow one another, as each
 * holds the account's quota until it has committed. So creations that arrive while others are being
 * written are written together after these, with one statement and one commit.
 *
 * Such a statement waits for no alias that somebody else has locked, as all others would wait with
 * it. A creation that finds its alias locked is written by others of its account, which wait.
 */
import { CoalescedCalls } from "../../shared/coalesced-calls.ts";
import type { Writer } from "../http/principal.ts";
import { budgets } from "../limits/budgets.ts";
import type { Consumption } from "../limits/quotas.ts";
import { errorCode, isUnavailable, type Sql } from "../postgres.ts";
import { DOMAIN_CHANGED, type Insertion, insertLinks, lockNamesOf } from "./sql.ts";

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
  /** Whether its statement waits for locks of aliases. */
  waits: boolean;
  resolve: (inserted: Inserted) => void;
  reject: (error: unknown) => void;
};

export class LinkInsertions {
  readonly #sql: Sql;
  readonly #statements = new CoalescedCalls<Waiting, void>(
    (creations) => this.#insertTogether(creations),
    LINKS_AT_ONCE,
    ({ insertions }) => insertions.length,
  );

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** As {@link insertLinks}, and takes from the account's budgets what is written. */
  insert(owner: Writer, insertions: readonly Insertion[]): Promise<Inserted> {
    return new Promise((resolve, reject) => {
      this.#enter({ owner, insertions, waits: false, resolve, reject });
    });
  }

  /** Creations of an account and mode that wait alike are written one statement after another. */
  #enter(creation: Waiting): void {
    const { accountId, mode } = creation.owner;
    const key = `${accountId} ${mode} ${creation.waits}`;
    this.#statements.run(creation, key).catch(creation.reject);
  }

  /**
   * Inserts the links of creations that wait alike; each half by itself where all together fail, as
   * one of them may have a taken name, or the quota suffices for some.
   */
  async #insertTogether(creations: readonly Waiting[]): Promise<void> {
    const [first] = creations;
    if (first === undefined) return;
    const isOne = creations.length === 1;
    try {
      const insertions = creations.flatMap((creation) => creation.insertions);
      const inserted = await insertLinks(this.#sql, first.owner, insertions, {
        waits: first.waits,
        consumes: true,
      });
      if ("locked" in inserted) return await this.#pass(creations, inserted.locked);
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

  /** Inserts what stands behind none of these locks; the others wait for them. */
  async #pass(creations: readonly Waiting[], locked: ReadonlySet<string>): Promise<void> {
    const { behind = [], free = [] } = Object.groupBy(creations, ({ insertions }) =>
      lockNamesOf(insertions).some((name) => locked.has(name)) ? "behind" : "free",
    );
    for (const creation of behind) this.#enter({ ...creation, waits: true });
    await this.#insertTogether(free);
  }
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
