/**
 * What this redirector holds of each limit: the clicks that it has used, and the lease in hand. A use is in the file
 * before its redirect is sent.
 */
import type { ClickLimit } from "../../shared/contracts/click-limits.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { LeaseStep } from "./lease.ts";
import { RECORD_BYTES, type Uses, type UsesFile } from "./uses-file.ts";

/** `taken`: one click is used, and the visitor may be redirected; `busy`: others hold what is left, or it is not known. */
export type Taken = "taken" | "spent" | "busy";

/** When a lease is used up, how soon that is reported unless another one is leased before. */
const USED_UP_MS = 100;

/** Limits whose uses are remembered, in case NATS is rolled back; those with a lease are kept in any case. */
const REMEMBERED_MAX = 100_000;

/** From this size the file is compacted, if most of it is outdated. */
const FILE_BYTES_MIN = 16 * 1024 * 1024;

export type Holding = Uses & {
  id: Uuid;
  /** Clicks up to here may be used. */
  upTo: number;
  /** When to report and give back, by the clock; while it is open. */
  reportAt: number;
  /** The change of the ledger in progress. */
  changing: Promise<LeaseStep["outcome"]> | undefined;
  /** A replacement may still arrive, so that only another one makes sure of what the ledger says. */
  uncertain: boolean;
  /** Requests that wait for a lease. */
  waiting: number;
  /** Reads the ledger without changing it. */
  looking: Promise<boolean> | undefined;
  /** Until when the ledger is believed to have clicks left. */
  leftUntil: number;
  refusal: { outcome: Taken; max: number; until: number } | undefined;
};

type HoldingsDeps = {
  file: Pick<UsesFile, "loaded" | "write" | "size" | "compact">;
  log: Log;
  /** Milliseconds; never goes back. */
  clock: () => number;
};

export type Holdings = ReturnType<typeof createHoldings>;

export function createHoldings({ file, log, clock }: HoldingsDeps) {
  const byId = new Map([...file.loaded].map(([id, uses]) => [id, createHolding(id, uses)]));
  /** Holdings with a lease, or whose ledger may say something else. */
  const open = new Set([...byId.values()].filter(({ state }) => state !== "settled"));
  let writeFailed = false;

  /** Forgets the least recently used holding, unless it is in use; then that of a later call. */
  function forgetOldest(): void {
    const [oldest] = byId.values();
    if (oldest === undefined) return;
    byId.delete(oldest.id);
    if (oldest.waiting > 0 || oldest.changing !== undefined || open.has(oldest))
      byId.set(oldest.id, oldest);
  }

  /** Writes the uses of a limit. Throws when it cannot: nothing may be used then. */
  function write(holding: Holding, used: number, state: Uses["state"]): void {
    try {
      file.write(holding.id, { used, state });
      writeFailed = false;
    } catch (error) {
      if (!writeFailed) log.error({ error }, "click_limits_not_written");
      writeFailed = true;
      throw error;
    }
    holding.used = used;
    holding.state = state;
    if (file.size() < FILE_BYTES_MIN || file.size() < 4 * RECORD_BYTES * byId.size) return;
    file.compact(usesOf(byId));
  }

  return {
    /** The holding of a limit; a new one for a limit that is not known. */
    get(id: Uuid): Holding {
      const known = byId.get(id);
      if (known !== undefined) return known;
      const holding = createHolding(id, { used: 0, state: "settled" });
      byId.set(id, holding);
      if (byId.size > REMEMBERED_MAX) forgetOldest();
      return holding;
    },
    find: (id: Uuid): Holding | undefined => byId.get(id),
    all: (): Holding[] => [...byId.values()],
    size: (): number => byId.size,
    open,
    write,
    /** Uses a click of the lease in hand. */
    use(holding: Holding): Taken {
      try {
        write(holding, holding.used + 1, "open");
      } catch {
        return "busy";
      }
      if (holding.used === holding.upTo) holding.reportAt = clock() + USED_UP_MS;
      return "taken";
    },
    /** Closes a holding whose ledger has all that was used, and no lease. */
    close(holding: Holding): void {
      open.delete(holding);
      if (holding.state === "settled") return;
      write(holding, holding.used, "settled");
      // The least recently used come first.
      byId.delete(holding.id);
      byId.set(holding.id, holding);
    },
  };
}

/** Whether a click can be used at once. */
export const isInHand = ({ changing, upTo, used }: Holding): boolean =>
  changing === undefined && upTo > used;

/** The outcome of a recent request for a click of the same limit that got none; undefined when the ledger must be read. */
export function refusalOf(
  { refusal }: Holding,
  { max }: ClickLimit,
  clock: () => number,
): Taken | undefined {
  return refusal?.max === max && clock() < refusal.until ? refusal.outcome : undefined;
}

const createHolding = (id: Uuid, uses: Uses): Holding => ({
  ...uses,
  id,
  upTo: uses.used,
  reportAt: 0,
  changing: undefined,
  uncertain: false,
  waiting: 0,
  looking: undefined,
  leftUntil: 0,
  refusal: undefined,
});

/** What must be kept in the file. */
const usesOf = (holdings: ReadonlyMap<Uuid, Holding>): Map<Uuid, Uses> =>
  new Map(
    [...holdings]
      .filter(([, { used, state }]) => used > 0 || state !== "settled")
      .map(([id, { used, state }]) => [id, { used, state }]),
  );
