/**
 * Live clicks of links: opens a stream per client, as many as an account and a process may have.
 */
import { ApiError } from "../http/errors.ts";
import type { StreamLeases } from "../limits/stream-leases.ts";
import type { ClickPoller } from "./click-poller.ts";
import { createStream, type LiveReader } from "./live-stream.ts";

/** Maximum streams per process; their buffers take at most 75 MiB. */
const STREAMS_MAX = 300;

type LiveClicksDeps = { poller: ClickPoller; leases: StreamLeases; now?: () => number };

export type LiveClicks = ReturnType<typeof createLiveClicks>;

export function createLiveClicks({ poller, leases, now = Date.now }: LiveClicksDeps) {
  /** The `end` function of each open stream. */
  const open = new Set<() => void>();
  let opening = 0;
  let stopped = false;

  function requireCapacity(): void {
    if (!stopped && open.size + opening < STREAMS_MAX) return;
    throw new ApiError("unavailable", "Too many live streams are open. Try again shortly.", {
      retryAfterSeconds: 5,
    });
  }

  return {
    /**
     * Opens a stream; throws `quota_exceeded` beyond the account's maximum of open streams, and
     * `unavailable` beyond the process's.
     */
    async open(reader: LiveReader): Promise<ReadableStream<Uint8Array>> {
      requireCapacity();
      opening++;
      try {
        let end: (() => void) | undefined;
        let lost = false;
        const lease = await leases.acquire(reader.owner, () => {
          lost = true;
          end?.();
        });
        const release = () => {
          if (end !== undefined) open.delete(end);
          // A lease that cannot be released expires by itself.
          lease().catch(() => undefined);
        };
        const stream = createStream({ poller, now }, reader, release, (ends) => {
          end = ends;
          open.add(ends);
        });
        if (lost || reader.signal.aborted) end?.();
        return stream;
      } finally {
        opening--;
      }
    },

    /** Number of open streams. */
    count: () => open.size,

    /** Ends all streams and rejects new ones. */
    stop(): void {
      stopped = true;
      for (const end of open) end();
    },
  };
}
