/**
 * A parser of HTTP/1.1 responses that retains heads and the beginnings of bodies, whatever their
 * length.
 */

export type HttpResponse = {
  status: number;
  /** Status line and headers, in latin1. */
  head: string;
  /** The beginning of the body, in latin1. */
  body: string;
  /** Whether the response is complete. */
  complete: boolean;
};

/** Most bytes of a head, and retained bytes of a body. */
const HEAD_BYTES_MAX = 256 * 1024;
const BODY_RETAINED_MAX = 2_048;

const END = Buffer.from("\r\n\r\n");

export class ResponseReader {
  readonly responses: HttpResponse[] = [];
  /** Number of complete responses. */
  completeCount = 0;
  /** Set if the stream is not valid HTTP. */
  error: string | undefined;
  readonly #methods: readonly string[];
  #pending: Buffer = Buffer.alloc(0);
  #current: HttpResponse | undefined;
  /** Remaining bytes of the body, or of the current chunk. */
  #left = 0;
  #state: "head" | "length" | "size" | "chunk" | "trailer" | "until end" | "broken" = "head";

  /** `methods` are those of the requests, in order: a response to HEAD has no body. */
  constructor(methods: readonly string[]) {
    this.#methods = methods;
  }

  push(bytes: Buffer): void {
    this.#pending = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes]);
    while (this.#pending.length > 0 && this.#step());
  }

  /** Signals that the peer has closed its side. */
  end(): void {
    if (this.#state === "until end") this.#finish();
  }

  /** Consumes what it can; returns false if it needs more bytes. */
  #step(): boolean {
    switch (this.#state) {
      case "head":
        return this.#readHead();
      case "length":
      case "chunk": {
        const part = this.#pending.subarray(0, this.#left);
        this.#retain(part);
        this.#left -= part.length;
        this.#pending = this.#pending.subarray(part.length);
        if (this.#left > 0) return false;
        if (this.#state === "length") this.#finish();
        else this.#state = "size";
        return true;
      }
      case "size": {
        const line = this.#readLine();
        // The line break after a chunk's bytes.
        if (line === undefined || line === "") return line !== undefined;
        this.#left = Number.parseInt(line, 16);
        if (Number.isNaN(this.#left)) return this.#fail(`invalid chunk size: ${line.slice(0, 40)}`);
        this.#state = this.#left === 0 ? "trailer" : "chunk";
        return true;
      }
      case "trailer": {
        const line = this.#readLine();
        if (line === "") this.#finish();
        return line !== undefined;
      }
      default:
        this.#retain(this.#pending);
        this.#pending = Buffer.alloc(0);
        return false;
    }
  }

  #readLine(): string | undefined {
    const at = this.#pending.indexOf("\r\n");
    if (at === -1) return undefined;
    const line = this.#pending.toString("latin1", 0, at);
    this.#pending = this.#pending.subarray(at + 2);
    return line;
  }

  #readHead(): boolean {
    const at = this.#pending.indexOf(END);
    if (at === -1) {
      // Bytes after the last response of a connection, such as a body for a HEAD, belong to no
      // response.
      if (/\r\nconnection: *close/i.test(this.responses.at(-1)?.head ?? "")) {
        this.#pending = Buffer.alloc(0);
        return false;
      }
      if (this.#pending.length > HEAD_BYTES_MAX) return this.#fail("the head has no end");
      if (this.#pending.length >= 5 && this.#pending.toString("latin1", 0, 5) !== "HTTP/")
        return this.#fail("not HTTP");
      return false;
    }
    const head = this.#pending.toString("latin1", 0, at);
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1]);
    if (Number.isNaN(status)) return this.#fail(`invalid status line: ${head.slice(0, 40)}`);
    this.#pending = this.#pending.subarray(at + END.length);
    // "100 Continue" is an interim response.
    if (status < 200 && status !== 101) return true;
    this.#current = { status, head, body: "", complete: false };
    this.responses.push(this.#current);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (this.#methods[this.responses.length - 1] === "HEAD" || status === 204 || status === 304)
      this.#finish();
    else if (/\r\ntransfer-encoding: *chunked/i.test(head)) this.#state = "size";
    else if (length === undefined) this.#state = "until end";
    else {
      this.#left = Number(length);
      this.#state = "length";
      if (this.#left === 0) this.#finish();
    }
    return true;
  }

  #fail(what: string): boolean {
    this.error = what;
    this.#state = "broken";
    return false;
  }

  #finish(): void {
    if (this.#current !== undefined) this.#current.complete = true;
    this.completeCount++;
    this.#current = undefined;
    this.#state = "head";
  }

  #retain(bytes: Buffer): void {
    if (this.#current === undefined || this.#current.body.length >= BODY_RETAINED_MAX) return;
    this.#current.body += bytes.toString(
      "latin1",
      0,
      BODY_RETAINED_MAX - this.#current.body.length,
    );
  }
}
