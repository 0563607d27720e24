/**
 * The part of ClickHouse's HTTP interface that the official client uses, over the engine. It
 * listens on loopback, which every program and every web page on this machine can reach: a page
 * with a simple POST, or through its own host name that resolves to 127.0.0.1 (DNS rebinding). So
 * requests from browsers or with foreign host names are rejected; all others need the password.
 */
import { isUtf8 } from "node:buffer";
import { createHash, timingSafeEqual } from "node:crypto";

import { QueueFull } from "../../../shared/fair-queue.ts";
import { type Engine, type Statement, STATEMENT_BYTES_MAX } from "./engine.ts";

/** Idle connections are closed after this; a statement has no limit here. */
const IDLE_SECONDS_MAX = 10;

/** Serves an engine to who has the credentials, as `user:password`. */
export class Gateway {
  readonly #engine: Engine;
  readonly #credentials: string;
  readonly #server: Bun.Server<undefined>;

  /** `port` 0 chooses a free one. */
  constructor(engine: Engine, credentials: string, { host, port }: { host: string; port: number }) {
    this.#engine = engine;
    this.#credentials = credentials;
    this.#server = Bun.serve({
      hostname: host,
      port,
      development: false,
      idleTimeout: IDLE_SECONDS_MAX,
      maxRequestBodySize: STATEMENT_BYTES_MAX,
      fetch: (request, server) => {
        server.timeout(request, 0);
        return this.#respond(request).catch(errorResponse);
      },
    });
  }

  get url(): URL {
    return this.#server.url;
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }

  async #respond(request: Request): Promise<Response> {
    rejectForeign(request);
    const url = new URL(request.url);
    if (url.pathname === "/ping") return new Response("Ok.\n");
    if (!isEqual(readCredentials(request, url), this.#credentials))
      throw new Refusal(516, "Authentication failed", "AUTHENTICATION_FAILED");
    const statement = await readStatement(request, url);
    const respond = (body: Uint8Array<ArrayBuffer> | ReadableStream, elapsedSeconds: number) =>
      new Response(body, {
        headers: {
          "content-type": "text/plain; charset=UTF-8",
          "x-clickhouse-query-id": url.searchParams.get("query_id") ?? crypto.randomUUID(),
          "x-clickhouse-format": statement.format,
          "x-clickhouse-timezone": "UTC",
          // The engine says how many rows a result has, not how many were read for it.
          "x-clickhouse-summary": JSON.stringify({
            elapsed_ns: String(Math.round(elapsedSeconds * 1e9)),
          }),
        },
      });
    // Without it, a result is sent when it is complete.
    if (url.searchParams.get("wait_end_of_query") === "0") {
      const blocks = await this.#engine.stream(statement);
      // Its wait for a turn is no work of its own.
      const start = performance.now();
      const body = await startReading(blocks);
      return respond(body, (performance.now() - start) / 1_000);
    }
    // An insert without rows is complete; the engine itself would report an error.
    const result = isEmptyInsert(statement) ? undefined : await this.#engine.run(statement);
    return respond(new Uint8Array(result?.bytes ?? []), result?.elapsedSeconds ?? 0);
  }
}

/**
 * Returns a body of blocks, of which it has read the first: an error until then is the response's.
 * Later ones break the connection.
 */
async function startReading(
  blocks: AsyncGenerator<Uint8Array, undefined>,
): Promise<ReadableStream<Uint8Array>> {
  let next: Promise<IteratorResult<Uint8Array, undefined>> | undefined = Promise.resolve(
    await blocks.next(),
  );
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await (next ?? blocks.next());
      next = undefined;
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await blocks.return(undefined);
    },
  });
}

/** Host names of this machine; any port, because a request may come through a forwarded one. */
const LOOPBACK_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/;

/** Throws if the request may come from a web page, or if its Host is not this machine. */
function rejectForeign({ headers, url }: Request): void {
  // Only browsers send these headers.
  const site = headers.get("sec-fetch-site");
  const isOfPage = headers.has("origin") || (site !== null && site !== "none");
  const isLocal = LOOPBACK_HOST.test(headers.get("host") ?? "") && URL.canParse(url);
  if (isOfPage || !isLocal)
    throw new Refusal(497, "Only programs of this machine are served", "ACCESS_DENIED");
}

const BASIC = "Basic ";

/** Reads `user:password` from where a client of ClickHouse may send it. */
function readCredentials({ headers }: Request, { searchParams }: URL): string {
  const authorization = headers.get("authorization") ?? "";
  if (authorization.startsWith(BASIC))
    return Buffer.from(authorization.slice(BASIC.length), "base64").toString();
  const user = headers.get("x-clickhouse-user") ?? searchParams.get("user") ?? "";
  const password = headers.get("x-clickhouse-key") ?? searchParams.get("password") ?? "";
  return `${user}:${password}`;
}

/** Compares in constant time, so that the duration reveals nothing. */
const isEqual = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

/** URL parameters that are not settings. */
const NOT_SETTINGS = new Set([
  "query",
  "database",
  "query_id",
  "default_format",
  "user",
  "password",
  "quota_key",
  "role",
  "compress",
  "decompress",
  "wait_end_of_query",
  "buffer_size",
  "client_protocol_version",
]);

const PARAMETER_PREFIX = "param_";

const isParameter = ([name]: [string, string]): boolean => name.startsWith(PARAMETER_PREFIX);

/** Reads the statement from the URL, the body, or the fields of a multipart form. */
async function readStatement(request: Request, url: URL): Promise<Statement> {
  const fields = [...url.searchParams];
  let body: Buffer = Buffer.alloc(0);
  if (request.headers.get("content-type")?.startsWith("multipart/form-data") === true) {
    for (const [name, value] of await request.formData())
      if (typeof value === "string") fields.push([name, value]);
  } else {
    body = await readBody(request);
  }
  const findField = (name: string) => fields.find(([field]) => field === name)?.[1];
  const query = findField("query") ?? "";
  return {
    sql: query === "" ? body.toString() : query,
    data: query === "" ? Buffer.alloc(0) : body,
    format: findField("default_format") ?? "TabSeparated",
    database: findField("database") ?? request.headers.get("x-clickhouse-database") ?? undefined,
    settings: fields.filter((field) => !NOT_SETTINGS.has(field[0]) && !isParameter(field)),
    parameters: fields
      .filter(isParameter)
      .map(([name, value]) => [name.slice(PARAMETER_PREFIX.length), value]),
  };
}

/** chDB takes statements as text, so binary formats are not supported. */
async function readBody(request: Request): Promise<Buffer> {
  const body = Buffer.from(await request.arrayBuffer());
  if (!isUtf8(body)) throw new Refusal(48, "The body is not UTF-8 text", "NOT_IMPLEMENTED");
  return body;
}

function isEmptyInsert({ sql, data }: Statement): boolean {
  if (data.length > 0 || !/^\s*INSERT\b/i.test(sql)) return false;
  const lastWords = sql.trimEnd().split(/\s/).slice(-2);
  return lastWords[0]?.toUpperCase() === "FORMAT";
}

/** An error of the gateway itself, in the form of ClickHouse's. */
class Refusal extends Error {
  override name = "Refusal";

  constructor(code: number, text: string, name: string) {
    super(`Code: ${code}. DB::Exception: ${text}. (${name})`);
  }
}

/** HTTP statuses other than 500 of codes that this gateway or its users know. */
const STATUS_BY_CODE: Readonly<Record<number, number>> = {
  48: 501,
  60: 404,
  62: 400,
  81: 404,
  159: 408,
  202: 503,
  497: 403,
  516: 401,
};

function errorResponse(thrown: unknown): Response {
  const error =
    thrown instanceof QueueFull
      ? new Refusal(202, "Too many simultaneous queries", "TOO_MANY_SIMULTANEOUS_QUERIES")
      : thrown;
  const text = error instanceof Error ? error.message : String(error);
  const message = text.slice(Math.max(0, text.indexOf("Code: ")));
  const code = Number(/^Code: (\d+)/.exec(message)?.[1] ?? 1000);
  return new Response(`${message}\n`, {
    status: STATUS_BY_CODE[code] ?? 500,
    headers: {
      "content-type": "text/plain; charset=UTF-8",
      "x-clickhouse-exception-code": String(code),
    },
  });
}
