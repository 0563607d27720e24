/**
 * Takes clicks of limited links: from this redirector's lease in memory, or from a new one of the limit's ledger. All
 * redirectors together never take more than the limit, whatever fails (docs/decisions/0021).
 *
 * A lease lives {@link LEASE_MS}: then what was used is reported, and the rest is given back. Of one limit only one change
 * of the ledger is under way at a time; meanwhile no lease is in hand, and requests wait for it.
 */
import type { ClickLimit, LeaseEntry, Ledger } from "../../shared/contracts/click-limits.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { Continuity } from "./continuity.ts";
import { lease, type LeaseStep, settle, usedAtMost } from "./lease.ts";
import type { Ledgers } from "./ledgers.ts";
import { RECORD_BYTES, type Uses, type UsesFile } from "./uses-file.ts";

/** `taken`: one click is spent, and the visitor may be led on; `busy`: others hold what is left, or it is not known. */
export type Taken = "taken" | "spent" | "busy";

export type ClickLimits = {
  /** Takes a click: at once while there is a lease in hand. */
  take(limit: ClickLimit): Taken | Promise<Taken>;
  /** Whether the limit is known to be spent. */
  isSpent(limit: ClickLimit): boolean;
  /** Whether the limit is spent, for what takes no click: reads the ledger unless that was done lately. */
  look(limit: ClickLimit): boolean | Promise<boolean>;
  /** Reports what is used and gives back all leases, for `withinMs` at most. */
  stop(withinMs: number): Promise<void>;
  /** `known`: limits that were asked for, or used before. */
  stats(): { outcomes: Readonly<Record<Taken, number>>; open: number; known: number };
};

/** How long a lease lives: so long a click that is left may be kept from others. */
const LEASE_MS = 2_000;

/** When a lease is used up, how soon that is reported unless another one is leased before. */
const USED_UP_MS = 100;

const SWEEP_MS = 50;

/** After a report that failed. */
const RETRY_MS = 1_000;

/** Reports under way at a time. */
const REPORTS_MAX = 64;

/** How long a request waits for a click. */
const WAIT_MS = 2_000;

/** Requests that wait: each holds a copy of its head, of 16 KiB at most. */
const WAITING_MAX = 2_000;

/** Attempts while other redirectors replace the same ledger. */
const RACES_MAX = 30;

/** How long a refusal is believed without reading the ledger again. */
const SPENT_MS = 1_000;
const BUSY_MS = 100;

/** Limits whose uses are remembered, in case NATS is set back; those with a lease are kept in any case. */
const REMEMBERED_MAX = 100_000;

/** From this size the file is written anew, if most of it is outdated. */
const FILE_BYTES_MIN = 16 * 1024 * 1024;

type Account = Uses & {
  id: Uuid;
  /** Clicks up to here may be used. */
  upTo: number;
  /** When to report and give back (`performance.now()`); while it is open. */
  reportAt: number;
  /** The change of the ledger under way. */
  changing: Promise<Taken | "leased"> | undefined;
  /** A replacement may still arrive, so that only another one makes sure of what the ledger says. */
  uncertain: boolean;
  /** Requests that wait for a lease. */
  waiting: number;
  /** Reads the ledger without changing it. */
  looking: Promise<boolean> | undefined;
  /** When the ledger last left a click. */
  leftUntil: number;
  refusal: { outcome: Taken; max: number; until: number } | undefined;
};

type ClickLimitsDeps = {
  ledgers: Pick<Ledgers, "read" | "replace">;
  file: Pick<UsesFile, "holder" | "loaded" | "write" | "size" | "compact">;
  continuity: Pick<Continuity, "isReady" | "isOpen" | "known" | "accepts">;
  log: Log;
  clock?: () => number;
};

/** Creates the limits. `restore` says again what was used of every limit, after the stream was set back. */
export function createClickLimits({
  ledgers,
  file,
  continuity,
  log,
  clock = () => performance.now(),
}: ClickLimitsDeps): ClickLimits & { restore(): void } {
  const accounts = new Map<Uuid, Account>();
  /** Accounts with a lease, or whose ledger may say something else. */
  const open = new Set<Account>();
  const outcomes: Record<Taken, number> = { taken: 0, spent: 0, busy: 0 };
  let waiting = 0;
  let reporting = 0;
  let writeFailed = false;

  for (const [id, uses] of file.loaded) {
    const account = createAccount(id, uses);
    accounts.set(id, account);
    if (uses.state !== "settled") open.add(account);
  }

  function accountOf(id: Uuid): Account {
    const known = accounts.get(id);
    if (known !== undefined) return known;
    const account = createAccount(id, { used: 0, state: "settled" });
    accounts.set(id, account);
    if (accounts.size > REMEMBERED_MAX) forgetOldest();
    return account;
  }

  /** Forgets the least recently used account, unless it is in use; then that of a later call. */
  function forgetOldest(): void {
    const [oldest] = accounts.values();
    if (oldest === undefined) return;
    accounts.delete(oldest.id);
    if (oldest.waiting > 0 || oldest.changing !== undefined || open.has(oldest))
      accounts.set(oldest.id, oldest);
  }

  function write(account: Account, used: number, state: Uses["state"]): void {
    try {
      file.write(account.id, { used, state });
      writeFailed = false;
    } catch (error) {
      if (!writeFailed) log.error({ error }, "click_limits_not_written");
      writeFailed = true;
      throw error;
    }
    account.used = used;
    account.state = state;
    if (file.size() < FILE_BYTES_MIN || file.size() < 4 * RECORD_BYTES * accounts.size) return;
    file.compact(usesOf(accounts));
  }

  /** Uses a click of the lease in hand. */
  function use(account: Account): Taken {
    try {
      write(account, account.used + 1, "open");
    } catch {
      return "busy";
    }
    if (account.used === account.upTo) account.reportAt = clock() + USED_UP_MS;
    return "taken";
  }

  /** Reads the ledger and replaces it by `step`'s, until no other redirector is faster. */
  async function change(
    account: Account,
    step: (ledger: Ledger) => LeaseStep,
  ): Promise<LeaseStep["outcome"]> {
    // What was in hand is given back by the change, so it must not be used meanwhile.
    account.upTo = account.used;
    open.add(account);
    account.reportAt = clock() + RETRY_MS;
    for (let race = 0; race < RACES_MAX; race++) {
      const { ledger, sequence } = await ledgers.read(account.id);
      trustOnlyWhatIsKnown(account, ledger.entries[file.holder]);
      const next = step(ledger);
      if (next.ledger !== ledger || account.uncertain) {
        const known = continuity.known();
        account.uncertain = true;
        const replaced = await ledgers.replace(account.id, next.ledger, sequence);
        // Another one was faster: so this replacement, and those before it, can no longer arrive.
        account.uncertain = false;
        if (replaced === undefined) {
          await Bun.sleep(Math.random() * Math.min(race, 10));
          continue;
        }
        if (!continuity.accepts(replaced, known)) return "busy";
      }
      account.upTo = next.upTo;
      if (next.outcome === "leased") account.reportAt = clock() + LEASE_MS;
      else closeAccount(account);
      return next.outcome;
    }
    return "busy";
  }

  /** Takes for used what the ledger says that this redirector may have used, unless the file knows better. */
  function trustOnlyWhatIsKnown(account: Account, entry: LeaseEntry | undefined): void {
    const used = Math.max(
      account.used,
      account.state === "open" ? (entry?.used ?? 0) : usedAtMost(entry),
    );
    if (account.state !== "open" || used !== account.used) write(account, used, "open");
    account.upTo = account.used;
  }

  function closeAccount(account: Account): void {
    open.delete(account);
    if (account.state === "settled") return;
    write(account, account.used, "settled");
    // The least recently used come first.
    accounts.delete(account.id);
    accounts.set(account.id, account);
  }

  /** Leases clicks, and remembers a refusal. */
  async function acquire(account: Account, limit: ClickLimit): Promise<Taken | "leased"> {
    let outcome: LeaseStep["outcome"] = "busy";
    try {
      if (continuity.isOpen())
        outcome = await change(account, (ledger) =>
          lease(
            ledger,
            limit,
            { id: file.holder, used: account.used },
            { now: unixSeconds(), waiting: account.waiting },
          ),
        );
    } catch (error) {
      log.debug({ error }, "click_lease_failed");
    }
    if (outcome === "leased") return outcome;
    const until = clock() + (outcome === "spent" ? SPENT_MS : BUSY_MS);
    account.refusal = { outcome, max: limit.max, until };
    return outcome;
  }

  /** Runs the one change of a ledger that may be under way. */
  const changing = (
    account: Account,
    run: () => Promise<Taken | "leased">,
  ): Promise<Taken | "leased"> =>
    (account.changing ??= run().finally(() => (account.changing = undefined)));

  async function wait(account: Account, limit: ClickLimit): Promise<Taken> {
    const deadline = clock() + WAIT_MS;
    account.waiting++;
    waiting++;
    try {
      while (clock() < deadline) {
        if (account.upTo > account.used && account.changing === undefined) return use(account);
        const refused = refusalOf(account, limit);
        if (refused !== undefined) return refused;
        if (!continuity.isReady()) return "busy";
        if (!continuity.isOpen()) {
          await Bun.sleep(SWEEP_MS);
          continue;
        }
        await changing(account, () => acquire(account, limit));
      }
      return "busy";
    } finally {
      account.waiting--;
      waiting--;
    }
  }

  function refusalOf(account: Account, limit: ClickLimit): Taken | undefined {
    const { refusal } = account;
    return refusal?.max === limit.max && clock() < refusal.until ? refusal.outcome : undefined;
  }

  /** Whether the ledger leaves no click; false when it cannot be read. */
  async function readSpent(account: Account, limit: ClickLimit): Promise<boolean> {
    try {
      const { ledger } = await ledgers.read(limit.id);
      const holder = { id: file.holder, used: account.used };
      const { outcome } = lease(ledger, limit, holder, { now: unixSeconds(), waiting: 0 });
      if (outcome === "spent")
        account.refusal = { outcome, max: limit.max, until: clock() + SPENT_MS };
      else account.leftUntil = clock() + SPENT_MS;
      return outcome === "spent";
    } catch (error) {
      log.debug({ error }, "click_limit_not_read");
      return false;
    }
  }

  function count(taken: Taken): Taken {
    outcomes[taken]++;
    return taken;
  }

  /** Reports what was used, and gives back the rest. */
  async function report(account: Account): Promise<"busy"> {
    try {
      await change(account, (ledger) => {
        const holder = { id: file.holder, used: account.used };
        const settled = settle(ledger, holder, unixSeconds());
        return { ledger: settled, upTo: account.used, outcome: "busy" };
      });
    } catch (error) {
      log.debug({ error }, "click_lease_not_returned");
    }
    return "busy";
  }

  /** Without NATS, leases stay in hand. */
  function sweep(now = clock()): void {
    if (!continuity.isReady()) return;
    for (const account of open) {
      if (reporting >= REPORTS_MAX) return;
      if (account.changing !== undefined || account.reportAt > now) continue;
      reporting++;
      void changing(account, () => report(account)).finally(() => reporting--);
    }
  }

  const timer = setInterval(() => sweep(), SWEEP_MS);

  return {
    take(limit) {
      const account = accountOf(limit.id);
      if (account.changing === undefined && account.upTo > account.used) return count(use(account));
      const refused = refusalOf(account, limit);
      if (refused !== undefined) return count(refused);
      return waiting >= WAITING_MAX ? count("busy") : wait(account, limit).then(count);
    },
    isSpent(limit) {
      const account = accounts.get(limit.id);
      return account !== undefined && refusalOf(account, limit) === "spent";
    },
    look(limit) {
      const account = accountOf(limit.id);
      if (refusalOf(account, limit) === "spent") return true;
      if (account.upTo > account.used || clock() < account.leftUntil) return false;
      if (waiting >= WAITING_MAX || !continuity.isReady()) return false;
      waiting++;
      account.looking ??= readSpent(account, limit).finally(() => (account.looking = undefined));
      return account.looking.finally(() => waiting--);
    },
    restore() {
      // The most recently used first: their ledgers are the likeliest to be set back.
      for (const account of [...accounts.values()].toReversed()) {
        if (account.used === 0) continue;
        account.reportAt = 0;
        open.add(account);
      }
    },
    async stop(withinMs) {
      clearInterval(timer);
      const deadline = clock() + withinMs;
      while (open.size > 0 && continuity.isReady() && clock() < deadline) {
        sweep(Infinity);
        await Bun.sleep(SWEEP_MS / 5);
      }
    },
    stats: () => ({ outcomes, open: open.size, known: accounts.size }),
  };
}

const unixSeconds = (): number => Math.floor(Date.now() / 1_000);

const createAccount = (id: Uuid, uses: Uses): Account => ({
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

/** What must be kept of accounts. */
const usesOf = (accounts: ReadonlyMap<Uuid, Account>): Map<Uuid, Uses> =>
  new Map(
    [...accounts]
      .filter(([, { used, state }]) => used > 0 || state !== "settled")
      .map(([id, { used, state }]) => [id, { used, state }]),
  );
