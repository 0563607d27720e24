/** Files of the reference: compressed and hashed on the first request, then served from memory. */
import { acceptsGzip } from "../http/compression.ts";
import { isNotModified } from "../http/etag.ts";
import { addVary } from "../http/vary.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** `gzip` is undefined for what is compressed by itself. */
type Prepared = { etag: string; plain: Bytes; gzip: Bytes | undefined };

/**
 * Sends a file to a client, or 304 if the client's copy is current. `charge` is called with the
 * bytes of the response first, and may refuse it.
 */
export type SendAsset = (
  request: Request,
  set: { status?: number | string; headers: Record<string, string | number> },
  charge: (bytes: number) => void,
) => Promise<Response>;

/**
 * Creates the response of a file; `read` is called for the first request, and again while it
 * throws. Bytes are compressed already.
 */
export function createAsset(type: string, read: () => Promise<string | Bytes> | string): SendAsset {
  let prepared: Prepared | undefined;
  return async (request, set, charge) => {
    prepared ??= prepare(await read());
    const { etag, plain, gzip } = prepared;
    set.headers["etag"] = etag;
    addVary(set.headers, "Accept-Encoding");
    set.headers["cache-control"] = "no-cache";
    if (isNotModified(request.headers, etag)) {
      charge(0);
      set.status = 304;
      return new Response(null, { status: 304 });
    }
    const zipped = acceptsGzip(request.headers.get("accept-encoding") ?? "") ? gzip : undefined;
    const body = zipped ?? plain;
    charge(body.length);
    set.headers["content-type"] = type;
    if (zipped !== undefined) set.headers["content-encoding"] = "gzip";
    return new Response(body);
  };
}

function prepare(content: string | Bytes): Prepared {
  const isText = typeof content === "string";
  const plain = isText ? new TextEncoder().encode(content) : content;
  const hash = new Bun.CryptoHasher("sha256").update(plain).digest("hex").slice(0, 16);
  return { etag: `"${hash}"`, plain, gzip: isText ? Bun.gzipSync(plain) : undefined };
}
