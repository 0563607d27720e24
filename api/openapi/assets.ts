/** Files of the reference: compressed and hashed on the first request, then served from memory. */
import { acceptsGzip } from "../http/compression.ts";
import { isNotModified } from "../http/etag.ts";
import { addVary } from "../http/vary.ts";

type Prepared = { etag: string; plain: Uint8Array<ArrayBuffer>; gzip: Uint8Array<ArrayBuffer> };

/** Sends a file to a client, or 304 if the client's copy is current. */
export type SendAsset = (
  request: Request,
  set: { status?: number | string; headers: Record<string, string | number> },
) => Promise<Response>;

/** Creates the response of a file; `read` is called once, for the first request. */
export function createAsset(type: string, read: () => Promise<string> | string): SendAsset {
  let prepared: Promise<Prepared> | undefined;
  return async (request, set) => {
    prepared ??= Promise.resolve(read()).then(prepare);
    const { etag, plain, gzip } = await prepared;
    set.headers["etag"] = etag;
    addVary(set.headers, "Accept-Encoding");
    set.headers["cache-control"] = "no-cache";
    if (isNotModified(request.headers, etag)) {
      set.status = 304;
      return new Response(null, { status: 304 });
    }
    set.headers["content-type"] = type;
    if (!acceptsGzip(request.headers.get("accept-encoding") ?? "")) return new Response(plain);
    set.headers["content-encoding"] = "gzip";
    return new Response(gzip);
  };
}

function prepare(text: string): Prepared {
  const plain = new TextEncoder().encode(text);
  const hash = new Bun.CryptoHasher("sha256").update(plain).digest("hex").slice(0, 16);
  return { etag: `"${hash}"`, plain, gzip: Bun.gzipSync(plain) };
}
