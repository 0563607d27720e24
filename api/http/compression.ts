/** Compresses JSON answers for clients that ask for it (RFC 9110 §12.5.3). */

/** Bytes from which an answer is compressed: a smaller one fills one packet either way. */
const BYTES_MIN = 1_400;

/** A list of 100 links is a fifth of its size in 30 µs; the default level takes 130 µs for a seventh (decision 27). */
const LEVEL = 1;

/** The framework's types do not say that this answers a request with a response. */
type Handle = (request: unknown) => unknown;

/**
 * Answers as `handle` does, with what is read as JSON compressed by gzip. Left as they are:
 *
 * - what is not read: only answers to POST contain keys and tokens, about which a compressed length would tell (BREACH);
 * - streams, which must not wait for a buffer: they are not `application/json`;
 * - answers with an `ETag`, which would have to differ from that of the uncompressed answer: single links.
 */
export const compressReads =
  (handle: Handle) =>
  (request: Request): unknown =>
    request.method === "GET" || request.method === "HEAD"
      ? answerRead(handle, request)
      : handle(request);

async function answerRead(handle: Handle, request: Request): Promise<unknown> {
  const response = await handle(request);
  if (!(response instanceof Response) || !isCompressible(response)) return response;
  const { headers } = response;
  headers.append("vary", "Accept-Encoding");
  if (!acceptsGzip(request.headers.get("accept-encoding") ?? "")) return response;
  if (request.method === "HEAD") {
    // It may be left out, but must not differ from that of GET.
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

/** Whether a client takes gzip: it names the coding, and not with the weight 0. */
export const acceptsGzip = (accepted: string): boolean =>
  accepted.split(",").some((part) => {
    const [coding, weight] = part.split(";").map((piece) => piece.trim().toLowerCase());
    return coding === "gzip" && Number(weight?.split("=")[1] ?? 1) > 0;
  });
