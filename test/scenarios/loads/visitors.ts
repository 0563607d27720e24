/**
 * Ordinary visitors: each follows a link on a connection of its own, at a fixed rate, whatever the
 * responses.
 */
import type { Socket } from "bun";

import { visitorAddress } from "./addresses.ts";

export type VisitorReport = {
  clicks: number;
  /** Clicks without a redirect. */
  failures: number;
  /** From the time a click was due to its response, in milliseconds. */
  p50: number;
  p99: number;
  max: number;
};

/** After this, a click counts as failed. */
const TIMEOUT_MS = 10_000;

const TICK_MS = 5;

export type Visitors = {
  /** Returns what was measured since the last call. */
  report(): VisitorReport;
  /** Resolves when all clicks have their responses; returns the number of redirects in all. */
  stop(): Promise<number>;
};

export function startVisitors(url: string, perSecond: number): Visitors {
  const { port, pathname } = new URL(url);
  const request = `GET ${pathname} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: curl/8.9.1\r\nConnection: close\r\n\r\n`;
  let latencies: number[] = [];
  let failures = 0;
  let redirects = 0;
  let started = 0;
  const pending = new Set<Promise<void>>();
  const beganMs = performance.now();

  async function click(index: number, dueMs: number): Promise<void> {
    const isRedirect = await exchange(Number(port), visitorAddress(index), request);
    latencies.push(performance.now() - dueMs);
    if (isRedirect) redirects++;
    else failures++;
  }

  const timer = setInterval(() => {
    const due = ((performance.now() - beganMs) * perSecond) / 1_000;
    for (; started < due; started++) {
      const promise = click(started, beganMs + (started * 1_000) / perSecond);
      pending.add(promise);
      void promise.finally(() => pending.delete(promise));
    }
  }, TICK_MS);

  return {
    report() {
      const sorted = latencies.toSorted((a, b) => a - b);
      const at = (share: number) =>
        Math.round((sorted[Math.floor(sorted.length * share)] ?? 0) * 10) / 10;
      const result = {
        clicks: sorted.length,
        failures,
        p50: at(0.5),
        p99: at(0.99),
        max: at(1 - 1e-9),
      };
      latencies = [];
      failures = 0;
      return result;
    },
    async stop() {
      clearInterval(timer);
      await Promise.all(pending);
      return redirects;
    },
  };
}

/** Sends a request over a new connection; resolves with whether the response is a redirect. */
async function exchange(port: number, localAddress: string, request: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), TIMEOUT_MS);
  try {
    const options = {
      hostname: "127.0.0.1",
      port,
      // Supported by Bun, but missing in its types.
      localAddress,
      socket: {
        open: (opened: Socket) => void opened.write(request),
        data: (_socket: Socket, bytes: Buffer) =>
          resolve(bytes.toString("latin1").startsWith("HTTP/1.1 302 ")),
        close: () => resolve(false),
        error: () => resolve(false),
      },
    };
    const socket = await Bun.connect(options);
    const isRedirect = await promise;
    socket.terminate();
    return isRedirect;
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}
