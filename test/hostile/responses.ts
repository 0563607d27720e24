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

export type ResponseReader = {
  push(bytes: Buffer): void;
  /** Signals that the peer has closed its side. */
  end(): void;
  responses: readonly HttpResponse[];
  /** Number of complete responses. */
  completeCount(): number;
  /** Set if the stream is not valid HTTP. */
  error(): string | undefined;
};

/** `methods` are those of the requests, in order: a response to HEAD has no body. */
export function createResponseReader(methods: readonly string[]): ResponseReader {
  const responses: HttpResponse[] = [];
  let pending: Buffer = Buffer.alloc(0);
  let current: HttpResponse | undefined;
  /** Remaining bytes of the body, or of the current chunk. */
  let left = 0;
  let state: "head" | "length" | "size" | "chunk" | "trailer" | "until end" | "broken" = "head";
  let error: string | undefined;
  let completeCount = 0;

  function finish(): void {
    if (current !== undefined) current.complete = true;
    completeCount++;
    current = undefined;
    state = "head";
  }

  function retain(bytes: Buffer): void {
    if (current === undefined || current.body.length >= BODY_RETAINED_MAX) return;
    current.body += bytes.toString("latin1", 0, BODY_RETAINED_MAX - current.body.length);
  }

  /** Consumes what it can; returns false if it needs more bytes. */
  function step(): boolean {
    switch (state) {
      case "head":
        return readHead();
      case "length":
      case "chunk": {
        const part = pending.subarray(0, left);
        retain(part);
        left -= part.length;
        pending = pending.subarray(part.length);
        if (left > 0) return false;
        if (state === "length") finish();
        else state = "size";
        return true;
      }
      case "size": {
        const line = readLine();
        // The line break after a chunk's bytes.
        if (line === undefined || line === "") return line !== undefined;
        left = Number.parseInt(line, 16);
        if (Number.isNaN(left)) return fail(`invalid chunk size: ${line.slice(0, 40)}`);
        state = left === 0 ? "trailer" : "chunk";
        return true;
      }
      case "trailer": {
        const line = readLine();
        if (line === "") finish();
        return line !== undefined;
      }
      default:
        retain(pending);
        pending = Buffer.alloc(0);
        return false;
    }
  }

  function readLine(): string | undefined {
    const at = pending.indexOf("\r\n");
    if (at === -1) return undefined;
    const line = pending.toString("latin1", 0, at);
    pending = pending.subarray(at + 2);
    return line;
  }

  function readHead(): boolean {
    const at = pending.indexOf(END);
    if (at === -1) {
      // Bytes after the last response of a connection, such as a body for a HEAD, belong to no
      // response.
      if (/\r\nconnection: *close/i.test(responses.at(-1)?.head ?? "")) {
        pending = Buffer.alloc(0);
        return false;
      }
      if (pending.length > HEAD_BYTES_MAX) return fail("the head has no end");
      if (pending.length >= 5 && pending.toString("latin1", 0, 5) !== "HTTP/")
        return fail("not HTTP");
      return false;
    }
    const head = pending.toString("latin1", 0, at);
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1]);
    if (Number.isNaN(status)) return fail(`invalid status line: ${head.slice(0, 40)}`);
    pending = pending.subarray(at + END.length);
    // "100 Continue" is an interim response.
    if (status < 200 && status !== 101) return true;
    current = { status, head, body: "", complete: false };
    responses.push(current);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (methods[responses.length - 1] === "HEAD" || status === 204 || status === 304) finish();
    else if (/\r\ntransfer-encoding: *chunked/i.test(head)) state = "size";
    else if (length === undefined) state = "until end";
    else {
      left = Number(length);
      state = "length";
      if (left === 0) finish();
    }
    return true;
  }

  function fail(what: string): boolean {
    error = what;
    state = "broken";
    return false;
  }

  return {
    push(bytes) {
      pending = pending.length === 0 ? bytes : Buffer.concat([pending, bytes]);
      while (pending.length > 0 && step());
    },
    end() {
      if (state === "until end") finish();
    },
    responses,
    completeCount: () => completeCount,
    error: () => error,
  };
}
