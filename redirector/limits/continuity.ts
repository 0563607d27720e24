/**
 * Watches whether the stream `LIMITS` goes on where it was. When NATS lost messages, ledgers allow clicks that are spent:
 * nothing is leased until every redirector has had time to notice and to say again what it used.
 */
import { NatsError, type StreamInfo } from "nats";

import type { Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { StreamPosition } from "./uses-file.ts";

/** How often the stream's position is read. */
const INTERVAL_MS = 1_000;

/** After an attempt that NATS does not permit, as in a far region: more would fill the log. */
const FORBIDDEN_MS = 60_000;

/** After a connection, how long others have to notice that the stream was set back: two of their readings. */
export const SETTLE_MS = 2_500;

/** After the stream was set back, how long all have to say again what they used. */
export const RESTORE_MS = 10_000;

/** A new leader may be a moment behind: only so many readings in a row are believed. */
const SUSPICIONS = 3;

export type Continuity = {
  /** Whether ledgers can be read and replaced. */
  isReady(): boolean;
  /** Whether clicks may be leased, too. */
  isOpen(): boolean;
  /** Why not, in words; undefined when they may be. */
  problem(): string | undefined;
  /** The last sequence known, to be given to {@link Continuity.accepts} with what is published from now on. */
  known(): number;
  /** Whether a message published at `known` got a later sequence; if not, the stream was set back. */
  accepts(sequence: number, known: number): boolean;
  /** Says that the connection was lost: NATS may have been set back when it returns. */
  interrupt(): void;
  /** How often the stream was found set back. */
  setBacks(): number;
  stop(): void;
};

type ContinuityDeps = {
  connected: () => boolean;
  readStream: () => Promise<Pick<StreamInfo, "created" | "state">>;
  /** The position when this redirector last ran. */
  initial: StreamPosition | undefined;
  onPosition: (position: StreamPosition) => void;
  onSetBack: () => void;
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

  /** Reads the position; returns when to do so again. */
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
    setBacks: position.setBacks,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

type PositionDeps = Pick<ContinuityDeps, "initial" | "onPosition" | "onSetBack" | "log"> & {
  clock: () => number;
};

/** Creates the position of the stream as it was last read, and what follows from it: when clicks may be leased, or why not. */
function createPosition({ initial, onPosition, onSetBack, log, clock }: PositionDeps) {
  let position = initial;
  let problem: string | undefined = "not connected yet";
  let openAt = Infinity;
  let restoredAt = 0;
  let setBacks = 0;
  let suspicions = 0;

  /** The stream was set back, to `next` if that is known. */
  function reset(next: StreamPosition | undefined): void {
    setBacks++;
    suspicions = 0;
    problem = undefined;
    position = next;
    restoredAt = clock() + RESTORE_MS;
    openAt = restoredAt;
    log.warn({ set_backs: setBacks }, "click_limits_set_back");
    onSetBack();
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
      const goesOn =
        position === undefined ||
        (position.stream === next.stream && position.sequence <= next.sequence);
      const changed = position?.stream !== next.stream || position.sequence !== next.sequence;
      if (!goesOn && ++suspicions < SUSPICIONS) {
        close("the stream LIMITS seems to be set back");
        return;
      }
      if (goesOn) follow(next);
      else reset(next);
      if (changed) onPosition(next);
    },
    /** Lets nothing be leased, for a reason. */
    close,
    reset,
    problem: (): string | undefined => problem,
    /** When clicks may be leased, by the clock; Infinity while that is not known. */
    openAt: (): number => openAt,
    known: (): number => position?.sequence ?? 0,
    setBacks: (): number => setBacks,
  };
}

const UNAVAILABLE = "the stream LIMITS is not available";

/** An id of the stream's creation: a stream that was created anew has another. */
const streamId = (created: string): Uuid => {
  const hex = new Bun.CryptoHasher("md5").update(created).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
};
