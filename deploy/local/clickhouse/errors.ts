/** Errors in the form of ClickHouse's HTTP interface. */

/** An error of the gateway itself, in ClickHouse's format. */
export class GatewayError extends Error {
  override name = "GatewayError";
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** Thrown when the queue of waiting statements is full. */
export const tooManyQueries = (): GatewayError =>
  new GatewayError(
    503,
    "Code: 202. DB::Exception: Too many simultaneous queries. (TOO_MANY_SIMULTANEOUS_QUERIES)",
  );

/** HTTP statuses other than 500 by error code, as ClickHouse's HTTP handler maps them. */
const STATUS_BY_CODE: Record<number, number> = {
  // Syntax, names, types and values: errors of the client.
  6: 400,
  27: 400,
  36: 400,
  38: 400,
  41: 400,
  42: 400,
  43: 400,
  44: 400,
  46: 400,
  47: 400,
  50: 400,
  53: 400,
  62: 400,
  63: 400,
  70: 400,
  72: 400,
  107: 400,
  115: 400,
  117: 400,
  130: 400,
  131: 400,
  179: 400,
  215: 400,
  456: 400,
  457: 400,
  // Not found.
  60: 404,
  81: 404,
  16: 404,
  // Access denied.
  452: 403,
  497: 403,
  // 159: timeout, 202: too many queries.
  159: 408,
  202: 503,
};

/** The HTTP response to a failed statement. */
export function errorResponse(error: unknown): Response {
  const text = error instanceof Error ? error.message : String(error);
  const message = text.slice(Math.max(0, text.indexOf("Code: ")));
  const code = Number(/^Code: (\d+)/.exec(message)?.[1] ?? 1000);
  const status = error instanceof GatewayError ? error.status : (STATUS_BY_CODE[code] ?? 500);
  return new Response(`${message}\n`, {
    status,
    headers: {
      "content-type": "text/plain; charset=UTF-8",
      "x-clickhouse-exception-code": String(code),
    },
  });
}
