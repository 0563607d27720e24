import { expect, test } from "bun:test";

import { EXCERPT_BYTES_MAX, HEAD_BYTES_MAX, RESPONSE_BYTES_MAX, ResponseReader } from "./post.ts";

/** Reads a response in parts of `size` bytes; returns it, and whether it was complete. */
function read(text: string, size = text.length) {
  const reader = new ResponseReader();
  const bytes = Buffer.from(text);
  let isComplete = false;
  for (let at = 0; at < bytes.length && !isComplete; at += size)
    isComplete = reader.add(bytes.subarray(at, at + size));
  return { ...reader.response, isComplete };
}

const OK = "HTTP/1.1 200 OK\r\n";

test.each([1, 7, 1_000])("reads a response in parts of %p bytes", (size) => {
  const sized = read(`${OK}Retry-After: 7\r\nContent-Length: 2\r\n\r\nok`, size);
  expect(sized).toEqual({ status: 200, retryAfter: "7", excerpt: "ok", isComplete: true });
  const chunked = `${OK}Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\n\r\n`;
  expect(read(chunked, size)).toMatchObject({ excerpt: "abcde", isComplete: true });
  const interim = `HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n`;
  expect(read(interim, size)).toMatchObject({ status: 204, isComplete: true });
});

test("without a length, a body ends with the connection", () => {
  expect(read(`${OK}\r\nall of it`)).toMatchObject({ excerpt: "all of it", isComplete: false });
});

test("stores what PostgreSQL can store, and only the beginning", () => {
  expect(read(`${OK}\r\na\0b`).excerpt).toBe("a\u{fffd}b");
  expect(read(`${OK}\r\n${"x".repeat(5_000)}`).excerpt).toHaveLength(EXCERPT_BYTES_MAX);
});

test("reads no more than its bounds", () => {
  const endless = `${OK}x: ${"y".repeat(HEAD_BYTES_MAX)}`;
  expect(() => read(endless)).toThrow("The headers are too long.");
  expect(() => read(`${endless}\r\n\r\n`)).toThrow("The headers are too long.");
  expect(read(`${OK}\r\n${"x".repeat(2 * RESPONSE_BYTES_MAX)}`, 4_096).isComplete).toBe(true);
  const interims = "HTTP/1.1 100 Continue\r\n\r\n".repeat(RESPONSE_BYTES_MAX);
  expect(read(interims, 4_096)).toEqual({ isComplete: true });
});

test.each(["SSH-2.0-OpenSSH_9\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 abc\r\n\r\n"])(
  "%j is not a response",
  (text) => {
    expect(() => read(text)).toThrow("The response is not HTTP/1.1.");
  },
);
