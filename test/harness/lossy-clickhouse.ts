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

type Pending = { pattern: RegExp; when: "before" | "after"; arrive: () => Promise<boolean> };

export class LossyClickHouse {
  readonly #target: () => string;
  readonly #refused = new Set<string>();
  readonly #server: Bun.Server<undefined>;
  #mode: Mode = "normal";
  #holds: Pending[] = [];

  /** Forwards requests to `target()`, whose port may change. */
  constructor(target: () => string) {
    this.#target = target;
    this.#server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      idleTimeout: 255,
      fetch: async (request) =>
        this.#mode === "error"
          ? new Response("Code: 241. Out of order.", { status: 500 })
          : await this.#forward(request),
      error: () => new Response("Code: 210. ClickHouse is not reachable.", { status: 502 }),
    });
  }

  /** Has ClickHouse's credentials, because requests are forwarded with those they carry. */
  get url(): string {
    return replaceHost(this.#target(), "127.0.0.1", Number(this.#server.url.port));
  }

  setMode(mode: Mode): void {
    this.#mode = mode;
  }

  /** Holds the next request whose statement or data match, before or after it takes effect. */
  hold(pattern: RegExp, when: "before" | "after"): Hold {
    const reached = Promise.withResolvers<void>();
    const goesOn = Promise.withResolvers<boolean>();
    const arrive = () => {
      reached.resolve();
      return goesOn.promise;
    };
    const pending = { pattern, when, arrive };
    this.#holds.push(pending);
    const end = (result: boolean) => {
      this.#holds = this.#holds.filter((hold) => hold !== pending);
      goesOn.resolve(result);
    };
    return { reached: reached.promise, release: () => end(true), drop: () => end(false) };
  }

  /**
   * Refuses each insert with this text as data that can never be stored, until the returned
   * function is called.
   */
  refuse(text: string): () => void {
    this.#refused.add(text);
    return () => void this.#refused.delete(text);
  }

  stop(): Promise<void> {
    return this.#server.stop(true);
  }

  async #forward(request: Request): Promise<Response> {
    const { pathname, search, searchParams } = new URL(request.url);
    const body = request.method === "GET" ? null : await request.arrayBuffer();
    const text = `${searchParams.get("query") ?? ""}\n${Buffer.from(body ?? new ArrayBuffer(0)).toString()}`;
    if (!(await this.#passes(text, "before"))) return LOST();
    if (
      text.startsWith("INSERT INTO incoming_clicks") &&
      [...this.#refused].some((part) => text.includes(part))
    )
      return REFUSED();
    const { method, headers } = request;
    const url = new URL(pathname + search, this.#target());
    const response = await fetch(url, { method, headers, body });
    const result = await response.arrayBuffer();
    if (!(await this.#passes(text, "after")) || this.#mode === "lose_response") return LOST();
    const resultHeaders = new Headers(response.headers);
    resultHeaders.delete("content-encoding");
    resultHeaders.delete("content-length");
    return new Response(result, { status: response.status, headers: resultHeaders });
  }

  /** Takes the hold that matches, if there is one, and returns whether the request goes on. */
  #passes(text: string, when: "before" | "after"): Promise<boolean> {
    const found = this.#holds.find((hold) => hold.when === when && hold.pattern.test(text));
    if (found === undefined) return Promise.resolve(true);
    this.#holds = this.#holds.filter((hold) => hold !== found);
    return found.arrive();
  }
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
