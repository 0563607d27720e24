/** The part of ClickHouse's HTTP interface that the official client uses. */
import { authenticate, type Credentials, rejectForeign } from "./access.ts";
import type { Engine } from "./engine.ts";
import { errorResponse, tooManyQueries } from "./errors.ts";
import { createStatementCheck } from "./statement-check.ts";
import { BODY_BYTES_MAX, readStatement, type Statement } from "./statement.ts";

/** Idle connections are closed after this; an accepted statement has no limit here. */
const IDLE_SECONDS_MAX = 10;

/**
 * Concurrent requests whose bodies are in memory: more than all clients of a stack have
 * connections.
 */
const REQUESTS_MAX = 300;

type GatewayOptions = { host: string; port: number; credentials: Credentials; engine: Engine };

/** Starts the gateway; `port` 0 chooses a free one. */
export function startGateway({ host, port, credentials, engine }: GatewayOptions) {
  const check = createStatementCheck(engine.tableFunctions);
  let inFlight = 0;

  async function run(request: Request, url: URL): Promise<Response> {
    const statement = await readStatement(request, url);
    check(statement);
    // An insert without rows is complete; the engine itself would report an error.
    const result = isEmptyInsert(statement) ? EMPTY_RESULT : await engine.run(statement);
    return new Response(new Uint8Array(result.bytes), {
      headers: {
        "content-type": "text/plain; charset=UTF-8",
        "x-clickhouse-query-id": url.searchParams.get("query_id") ?? crypto.randomUUID(),
        "x-clickhouse-format": statement.format,
        "x-clickhouse-timezone": "UTC",
        // The engine says how many rows a result has, not how many were read for it.
        "x-clickhouse-summary": JSON.stringify({
          elapsed_ns: String(Math.round(result.elapsedSeconds * 1e9)),
        }),
      },
    });
  }

  const server = Bun.serve({
    hostname: host,
    port,
    development: false,
    idleTimeout: IDLE_SECONDS_MAX,
    maxRequestBodySize: BODY_BYTES_MAX,
    fetch: async (request, bun) => {
      try {
        rejectForeign(request);
        const url = new URL(request.url);
        if (url.pathname === "/ping") return new Response("Ok.\n");
        authenticate(request, url, credentials);
        if (inFlight >= REQUESTS_MAX) throw tooManyQueries();
        bun.timeout(request, 0);
        inFlight++;
        try {
          return await run(request, url);
        } finally {
          inFlight--;
        }
      } catch (error) {
        return errorResponse(error);
      }
    },
  });
  return { url: server.url, stop: () => server.stop() };
}

const EMPTY_RESULT = { bytes: new Uint8Array(), elapsedSeconds: 0 };

function isEmptyInsert({ sql, data }: Statement): boolean {
  if (data.length > 0 || !/^\s*INSERT\b/i.test(sql)) return false;
  const lastWords = sql.trimEnd().split(/\s/).slice(-2);
  return lastWords[0]?.toUpperCase() === "FORMAT";
}
