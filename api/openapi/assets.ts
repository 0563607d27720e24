/** Files of the reference: compressed and hashed on the first request, then served from memory. */
import { acceptsGzip } from "../http/compression.ts";
import { isNotModified } from "../http/etag.ts";
import { addVary, type ResponseSettings } from "../http/request-context.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** `gzip` is undefined for what is compressed by itself. */
type Prepared = { etag: string; plain: Bytes; gzip: Bytes | undefined };

/** What a route hands on: its request, what can be set of the response, and who pays for it. */
export type AssetCall = {
  request: Request;
  set: ResponseSettings;
  /** Is called with the bytes of the response first, and may refuse it. */
  charge: (bytes: number) => void;
};

export class Asset {
  readonly #type: string;
  readonly #read: () => Promise<string | Bytes> | string;
  #prepared: Prepared | undefined;

  /**
   * `read` is called for the first request, and again while it throws. Bytes are compressed
   * already.
   */
  constructor(type: string, read: () => Promise<string | Bytes> | string) {
    this.#type = type;
    this.#read = read;
  }

  /** Sends the file to a client, or 304 if the client's copy is current. */
  async send({ request, set, charge }: AssetCall): Promise<Response> {
    this.#prepared ??= prepare(await this.#read());
    const { etag, plain, gzip } = this.#prepared;
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
    set.headers["content-type"] = this.#type;
    if (zipped !== undefined) set.headers["content-encoding"] = "gzip";
    return new Response(body);
  }
}

function prepare(content: string | Bytes): Prepared {
  const isText = typeof content === "string";
  const plain = isText ? new TextEncoder().encode(content) : content;
  const hash = new Bun.CryptoHasher("sha256").update(plain).digest("hex").slice(0, 16);
  return { etag: `"${hash}"`, plain, gzip: isText ? Bun.gzipSync(plain) : undefined };
}
