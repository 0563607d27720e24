/** ClickHouse's HTTP interface, as far as the official client uses it. */
import type { Engine } from "./engine.ts";
import { errorResponse } from "./errors.ts";
import { readStatement } from "./statement.ts";

/** The most bytes of one insert. */
const BODY_BYTES_MAX = 512 * 1024 * 1024;

export function startGateway(host: string, port: number, engine: Engine) {
  const server = Bun.serve({
    hostname: host,
    port,
    development: false,
    // A statement runs as long as it runs; its own max_execution_time bounds it.
    idleTimeout: 0,
    maxRequestBodySize: BODY_BYTES_MAX,
    routes: { "/ping": () => new Response("Ok.\n") },
    fetch: async (request) => {
      const queryId = new URL(request.url).searchParams.get("query_id") ?? crypto.randomUUID();
      try {
        const statement = await readStatement(request);
        // An insert without rows is done; the engine itself would call it an error.
        const result = isEmptyInsert(statement.sql) ? NOTHING : await engine.run(statement);
        return new Response(new Uint8Array(result.bytes), {
          headers: {
            "content-type": "text/plain; charset=UTF-8",
            "x-clickhouse-query-id": queryId,
            "x-clickhouse-format": statement.format,
            "x-clickhouse-timezone": "UTC",
            "x-clickhouse-summary": JSON.stringify({
              read_rows: String(result.rowsRead),
              read_bytes: String(result.bytesRead),
              elapsed_ns: String(Math.round(result.elapsedSeconds * 1e9)),
            }),
          },
        });
      } catch (error) {
        return errorResponse(error);
      }
    },
  });
  return { url: server.url, stop: () => server.stop() };
}

const NOTHING = { bytes: new Uint8Array(), rowsRead: 0, bytesRead: 0, elapsedSeconds: 0 };

const isEmptyInsert = (sql: string): boolean => /^\s*INSERT\s[\s\S]*\bFORMAT\s+\w+\s*$/i.test(sql);
