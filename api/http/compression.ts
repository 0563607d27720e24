/** Compresses JSON responses for clients that accept it (RFC 9110 §12.5.3). */
import { entriesOf } from "./header-lists.ts";

/** Minimum bytes of a compressed response: a smaller one fits into one packet either way. */
const BYTES_MIN = 1_400;

/**
 * Compresses a list of 100 links to a fifth in 30 µs; the default level takes 130 µs for a seventh
 * (decision 27).
 */
const LEVEL = 1;

/** The framework's types do not state that a handler turns a request into a response. */
type Handle = (request: unknown) => unknown;

/**
 * Responds as `handle` does, with JSON responses to reads compressed by gzip. Leaves uncompressed:
 *
 * - responses to writes: only responses to POST contain keys and tokens, which a compressed length
 *   could reveal (BREACH);
 * - streams, which must not wait for a buffer: they are not `application/json`;
 * - responses with an `ETag`, which would have to differ from that of the uncompressed response:
 *   single links.
 */
export const compressReads =
  (handle: Handle) =>
  (request: Request): unknown =>
    request.method === "GET" || request.method === "HEAD"
      ? respondToRead(handle, request)
      : handle(request);

async function respondToRead(handle: Handle, request: Request): Promise<unknown> {
  const response = await handle(request);
  if (!(response instanceof Response) || !isCompressible(response)) return response;
  const { headers } = response;
  headers.append("vary", "Accept-Encoding");
  if (!acceptsCoding(request.headers, "gzip")) return response;
  if (request.method === "HEAD") {
    // HEAD may omit it, but it must not differ from that of GET.
    headers.delete("content-length");
    return response;
  }
  const body = await response.arrayBuffer();
  if (body.byteLength < BYTES_MIN) return new Response(body, { headers });
  headers.set("content-encoding", "gzip");
  return new Response(Bun.gzipSync(body, { level: LEVEL }), { headers });
}

const isCompressible = ({ status, headers }: Response): boolean =>
  status === 200 &&
  !headers.has("etag") &&
  headers.get("content-type")?.startsWith("application/json") === true;

/** Whether a client accepts a coding: it names it, with a weight other than 0. */
export const acceptsCoding = (headers: Headers, coding: "br" | "gzip"): boolean =>
  entriesOf(headers.get("accept-encoding") ?? "").some((entry) => {
    const [name, weight] = entry.split(";").map((piece) => piece.trim().toLowerCase());
    return name === coding && Number(weight?.split("=")[1] ?? 1) > 0;
  });
