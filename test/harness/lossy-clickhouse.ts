/**
 * A proxy to ClickHouse that fails requests, loses responses, or holds a request at a certain
 * point.
 */

import { replaceHost } from "./tcp-proxy.ts";

/**
 * `error`: requests fail without effect. `lose_response`: requests take effect, but the client gets
 * an error.
 */
type Mode = "normal" | "error" | "lose_response";

/**
 * A request that is held, whatever becomes of its client; when none has arrived by its end, none is
 * held.
 */
export type Hold = {
  /** Resolves when the request has arrived, or, held after it, when it has taken effect. */
  reached: Promise<void>;
  /** Lets it go on. */
  release(): void;
  /** Ends it; held before, it never takes effect. */
  drop(): void;
};

export type LossyClickHouse = {
  url: string;
  setMode(mode: Mode): void;
  /** Holds the next request whose statement or data match, before or after it takes effect. */
  hold(pattern: RegExp, when: "before" | "after"): Hold;
  /**
   * Refuses each insert with this text as data that can never be stored, until the returned
   * function is called.
   */
  refuse(text: string): () => void;
  stop(): Promise<void>;
};

type Pending = { pattern: RegExp; when: "before" | "after"; arrive: () => Promise<boolean> };

/** Forwards requests to `target()`, whose port may change. */
export function startLossyClickHouse(target: () => string): LossyClickHouse {
  let mode: Mode = "normal";
  let holds: Pending[] = [];
  const refused = new Set<string>();

  /**
   * Takes the hold that matches, if there is one. Its function waits, and returns whether the
   * request goes on.
   */
  function takeHold(text: string, when: "before" | "after"): () => Promise<boolean> {
    const found = holds.find((hold) => hold.when === when && hold.pattern.test(text));
    if (found === undefined) return () => Promise.resolve(true);
    holds = holds.filter((hold) => hold !== found);
    return found.arrive;
  }

  async function forward(request: Request): Promise<Response> {
    const { pathname, search, searchParams } = new URL(request.url);
    const body = request.method === "GET" ? null : await request.arrayBuffer();
    const text = `${searchParams.get("query") ?? ""}\n${Buffer.from(body ?? new ArrayBuffer(0)).toString()}`;
    if (!(await takeHold(text, "before")())) return LOST();
    if (
      text.startsWith("INSERT INTO incoming_clicks") &&
      [...refused].some((part) => text.includes(part))
    )
      return REFUSED();
    const { method, headers } = request;
    const response = await fetch(new URL(pathname + search, target()), { method, headers, body });
    const result = await response.arrayBuffer();
    if (!(await takeHold(text, "after")())) return LOST();
    if (mode === "lose_response") return LOST();
    const resultHeaders = new Headers(response.headers);
    resultHeaders.delete("content-encoding");
    resultHeaders.delete("content-length");
    return new Response(result, { status: response.status, headers: resultHeaders });
  }

  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 255,
    fetch: async (request) =>
      mode === "error"
        ? new Response("Code: 241. Out of order.", { status: 500 })
        : await forward(request),
    error: () => new Response("Code: 210. ClickHouse is not reachable.", { status: 502 }),
  });
  return {
    // The URL has ClickHouse's credentials, because requests are forwarded with those they carry.
    url: replaceHost(target(), "127.0.0.1", Number(server.url.port)),
    setMode: (next) => void (mode = next),
    hold(pattern, when) {
      const reached = Promise.withResolvers<void>();
      const goesOn = Promise.withResolvers<boolean>();
      const arrive = () => {
        reached.resolve();
        return goesOn.promise;
      };
      const pending = { pattern, when, arrive };
      holds.push(pending);
      const end = (result: boolean) => {
        holds = holds.filter((hold) => hold !== pending);
        goesOn.resolve(result);
      };
      return { reached: reached.promise, release: () => end(true), drop: () => end(false) };
    },
    refuse(text) {
      refused.add(text);
      return () => void refused.delete(text);
    },
    stop: () => server.stop(true),
  };
}

const LOST = () => new Response("Code: 209. Response lost.", { status: 500 });

const REFUSED = () =>
  new Response(
    "Code: 27. DB::Exception: Cannot parse input. (CANNOT_PARSE_INPUT_ASSERTION_FAILED)",
    {
      status: 400,
      headers: { "x-clickhouse-exception-code": "27" },
    },
  );
