/** Reads a statement from a request the way ClickHouse's HTTP interface does. */
import { isUtf8 } from "node:buffer";
import { gunzipSync } from "node:zlib";

import { GatewayError } from "./errors.ts";

/**
 * Largest body in bytes, compressed and decompressed: a hundred times a worker's largest insert.
 */
export const BODY_BYTES_MAX = 64 * 1024 * 1024;

/** Most settings and parameters of a statement; the product uses ten. */
const FIELDS_MAX = 200;

export type Statement = {
  sql: string;
  /**
   * What follows the statement, as UTF-8: the rows of an insert, or the rest of the statement.
   * Empty if there is none.
   */
  data: Buffer;
  /** Result format if the statement names none. */
  format: string;
  database: string | undefined;
  settings: [string, string][];
  /** Values of `{name: Type}` in the statement, in ClickHouse's escaped text form. */
  parameters: [string, string][];
};

/** URL parameters that are not settings, or only settings of the server's HTTP layer. */
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
  "send_progress_in_http_headers",
  "http_response_buffer_size",
  "http_headers_progress_interval_ms",
  "enable_http_compression",
  "http_zlib_compression_level",
  "http_response_compression_method",
  "client_protocol_version",
]);

const PARAMETER_PREFIX = "param_";

/** Reads the statement from the URL, the body, or the fields of a multipart form. */
export async function readStatement(request: Request, url: URL): Promise<Statement> {
  const fields = [...url.searchParams];
  let body: Buffer;
  if (request.headers.get("content-type")?.startsWith("multipart/form-data") === true) {
    for (const [name, value] of await request.formData()) {
      if (typeof value === "string") fields.push([name, value]);
    }
    body = NOTHING;
  } else {
    body = await readBody(request);
  }
  if (url.searchParams.has("session_id")) {
    throw new GatewayError(
      501,
      "Code: 48. DB::Exception: Sessions are not supported. (NOT_IMPLEMENTED)",
    );
  }
  if (fields.length > FIELDS_MAX) {
    throw new GatewayError(
      400,
      `Code: 36. DB::Exception: More than ${FIELDS_MAX} settings and parameters. (BAD_ARGUMENTS)`,
    );
  }
  const findField = (name: string) => fields.find(([field]) => field === name)?.[1];
  const query = findField("query") ?? "";
  return {
    sql: query === "" ? body.toString() : query,
    data: query === "" ? NOTHING : body,
    format: findField("default_format") ?? "TabSeparated",
    database: findField("database") ?? request.headers.get("x-clickhouse-database") ?? undefined,
    settings: fields.filter(
      ([name]) => !NOT_SETTINGS.has(name) && !name.startsWith(PARAMETER_PREFIX),
    ),
    parameters: fields
      .filter(([name]) => name.startsWith(PARAMETER_PREFIX))
      .map(([name, value]) => [name.slice(PARAMETER_PREFIX.length), value]),
  };
}

const NOTHING = Buffer.alloc(0);

async function readBody(request: Request): Promise<Buffer> {
  const encoding = request.headers.get("content-encoding");
  if (encoding !== null && encoding !== "gzip" && encoding !== "identity") {
    throw new GatewayError(
      501,
      `Code: 48. DB::Exception: Content-Encoding ${encoding}. (NOT_IMPLEMENTED)`,
    );
  }
  const sent = Buffer.from(await request.arrayBuffer());
  const body = encoding === "gzip" ? decompress(sent) : sent;
  // chDB takes statements as text, so binary formats are not supported.
  if (body === undefined || !isUtf8(body)) {
    throw new GatewayError(
      501,
      "Code: 48. DB::Exception: The body is not UTF-8 text. (NOT_IMPLEMENTED)",
    );
  }
  return body;
}

/** Returns undefined for bytes that are no gzip file, or too many. */
function decompress(bytes: Buffer): Buffer | undefined {
  try {
    return gunzipSync(bytes, { maxOutputLength: BODY_BYTES_MAX });
  } catch {
    return undefined;
  }
}
