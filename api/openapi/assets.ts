/** Files of the reference: compressed and hashed on the first request, then served from memory. */
import { acceptsGzip } from "../http/compression.ts";
import { isNotModified } from "../http/etag.ts";
import { addVary } from "../http/vary.ts";

type Prepared = { etag: string; plain: Uint8Array<ArrayBuffer>; gzip: Uint8Array<ArrayBuffer> };

/**
 * Sends a file to a client, or 304 if the client's copy is current. `charge` is called with the
 * bytes of the response first, and may refuse it.
 */
export type SendAsset = (
  request: Request,
  set: { status?: number | string; headers: Record<string, string | number> },
  charge: (bytes: number) => void,
) => Promise<Response>;

/** Creates the response of a file; `read` is called once, for the first request. */
export function createAsset(type: string, read: () => Promise<string> | string): SendAsset {
  let prepared: Promise<Prepared> | undefined;
  return async (request, set, charge) => {
    prepared ??= Promise.resolve(read()).then(prepare);
    const { etag, plain, gzip } = await prepared;
    set.headers["etag"] = etag;
    addVary(set.headers, "Accept-Encoding");
    set.headers["cache-control"] = "no-cache";
    if (isNotModified(request.headers, etag)) {
      charge(0);
      set.status = 304;
      return new Response(null, { status: 304 });
    }
    const isZipped = acceptsGzip(request.headers.get("accept-encoding") ?? "");
    const body = isZipped ? gzip : plain;
    charge(body.length);
    set.headers["content-type"] = type;
    if (isZipped) set.headers["content-encoding"] = "gzip";
    return new Response(body);
  };
}

function prepare(text: string): Prepared {
  const plain = new TextEncoder().encode(text);
  const hash = new Bun.CryptoHasher("sha256").update(plain).digest("hex").slice(0, 16);
  return { etag: `"${hash}"`, plain, gzip: Bun.gzipSync(plain) };
}
