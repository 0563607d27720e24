/** Drawing and decoding images for accounts: in turns, and within what each may take. */
import { FairQueue } from "../../shared/fair-queue.ts";
import { budgets, type Payer } from "./budgets.ts";

/** Each takes up to 16 MB, and some tenths of a second of a core. */
const DRAWING = { running: 2, runningEach: 1, waiting: 128, waitingEach: 16, waitMs: 5_000 };

const queue = new FairQueue("the drawing of images", DRAWING);

/** Milliseconds that are taken while an image waits, before it is known what it takes. */
const RESERVED_MS = 100;

/** Runs work of a payer; throws `rate_limited`, and {@link QueueFull}. */
export async function drawInTurn<T>(payer: Payer, work: () => Promise<T>): Promise<T> {
  const settle = budgets.reserve(payer, "images", RESERVED_MS);
  let startedMs: number | undefined;
  try {
    return await queue.run(payer.accountId, () => {
      startedMs = performance.now();
      return work();
    });
  } finally {
    settle(startedMs === undefined ? 0 : performance.now() - startedMs);
  }
}
