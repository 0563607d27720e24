/**
 * Watches whether the stream `LIMITS` continues from its last known position. When NATS has lost
 * messages, ledgers allow clicks that were already used. Nothing is leased until every redirector
 * has had time to detect that and to report its used clicks again.
 */
import { NatsError, type StreamInfo } from "nats";

import type { Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { StreamPosition } from "./uses-file.ts";

/** Interval at which the stream's position is read. */
const INTERVAL_MS = 1_000;

/**
 * Pause after an attempt that NATS does not permit, as in a remote region: more attempts would fill
 * the log.
 */
const FORBIDDEN_MS = 60_000;

/**
 * How long after a reconnect other redirectors have to detect a rollback of the stream: two of
 * their readings.
 */
export const SETTLE_MS = 2_500;

/**
 * How long after a rollback of the stream all redirectors have to report their used clicks again.
 */
export const RESTORE_MS = 10_000;

/** A new leader may lag for a moment, so a rollback must show in this many consecutive readings. */
const SUSPICIONS = 3;

export type Continuity = {
  /** Whether ledgers can be read and replaced. */
  isReady(): boolean;
  /** Whether clicks may also be leased. */
  isOpen(): boolean;
  /** Why clicks may not be leased, in words; undefined when they may. */
  problem(): string | undefined;
  /**
   * The last known sequence, to be passed to {@link Continuity.accepts} with the next published
   * message.
   */
  known(): number;
  /**
   * Whether a message published at `known` got a later sequence; otherwise the stream was rolled
   * back.
   */
  accepts(sequence: number, known: number): boolean;
  /** Records that the connection was lost: NATS may have been rolled back when it returns. */
  interrupt(): void;
  /** How often a rollback of the stream was detected. */
  rollbacks(): number;
  stop(): void;
};

type ContinuityDeps = {
  connected: () => boolean;
  readStream: () => Promise<Pick<StreamInfo, "created" | "state">>;
  /** The position when this redirector last ran. */
  initial: StreamPosition | undefined;
  onPosition: (position: StreamPosition) => void;
  onRollback: () => void;
  log: Log;
  clock?: () => number;
  intervalMs?: number;
};

export function watchContinuity({
  connected,
  readStream,
  intervalMs = INTERVAL_MS,
  clock = () => performance.now(),
  ...deps
}: ContinuityDeps): Continuity {
  const position = createPosition({ ...deps, clock });
  const { log } = deps;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;

  /** Reads the position; returns the delay until the next reading. */
  async function check(): Promise<number> {
    if (!connected()) {
      position.close("disconnected");
      return intervalMs;
    }
    try {
      position.apply(await readStream());
      return intervalMs;
    } catch (error) {
      if (!position.problem()?.startsWith(UNAVAILABLE))
        log.warn({ error }, "click_limits_unavailable");
      position.close(`${UNAVAILABLE}: ${error instanceof Error ? error.message : String(error)}`);
      return error instanceof NatsError && error.isPermissionError() ? FORBIDDEN_MS : intervalMs;
    }
  }

  async function run(): Promise<void> {
    while (!stopped) {
      const delay = await check();
      await new Promise((resolve) => (timer = setTimeout(resolve, delay)));
    }
  }

  void run();
  return {
    isReady: () => connected() && position.problem() === undefined,
    isOpen: () => connected() && position.problem() === undefined && clock() >= position.openAt(),
    problem: position.problem,
    known: position.known,
    accepts(sequence, known) {
      if (sequence > known) return true;
      position.reset(undefined);
      return false;
    },
    interrupt: () => position.close("disconnected"),
    rollbacks: position.rollbacks,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

type PositionDeps = Pick<ContinuityDeps, "initial" | "onPosition" | "onRollback" | "log"> & {
  clock: () => number;
};

/** Tracks the stream's position as last read, and derives when clicks may be leased, or why not. */
function createPosition({ initial, onPosition, onRollback, log, clock }: PositionDeps) {
  let position = initial;
  let problem: string | undefined = "not connected yet";
  let openAt = Infinity;
  let restoredAt = 0;
  let rollbacks = 0;
  let suspicions = 0;

  /** The stream was rolled back, to `next` if that is known. */
  function reset(next: StreamPosition | undefined): void {
    rollbacks++;
    suspicions = 0;
    problem = undefined;
    position = next;
    restoredAt = clock() + RESTORE_MS;
    openAt = restoredAt;
    log.warn({ set_backs: rollbacks }, "click_limits_set_back");
    onRollback();
  }

  function close(reason: string): void {
    problem = reason;
    openAt = Infinity;
  }

  function follow(next: StreamPosition): void {
    suspicions = 0;
    problem = undefined;
    if (openAt === Infinity) openAt = Math.max(clock() + SETTLE_MS, restoredAt);
    position = next;
  }

  return {
    /** Applies a reading of the stream. */
    apply(info: Pick<StreamInfo, "created" | "state">): void {
      const next = { stream: streamId(info.created), sequence: info.state.last_seq };
      const continuesStream =
        position === undefined ||
        (position.stream === next.stream && position.sequence <= next.sequence);
      const changed = position?.stream !== next.stream || position.sequence !== next.sequence;
      if (!continuesStream && ++suspicions < SUSPICIONS) {
        close("the stream LIMITS seems to be rolled back");
        return;
      }
      if (continuesStream) follow(next);
      else reset(next);
      if (changed) onPosition(next);
    },
    /** Stops leasing, for a reason. */
    close,
    reset,
    problem: (): string | undefined => problem,
    /** When clicks may be leased, by the clock; Infinity while unknown. */
    openAt: (): number => openAt,
    known: (): number => position?.sequence ?? 0,
    rollbacks: (): number => rollbacks,
  };
}

const UNAVAILABLE = "the stream LIMITS is not available";

/** An id derived from the stream's creation time: a recreated stream has another one. */
const streamId = (created: string): Uuid => {
  const hex = new Bun.CryptoHasher("md5").update(created).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
};
