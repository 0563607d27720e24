import { expect, test } from "bun:test";

import fc from "fast-check";

import { ResponseReader } from "./responses.ts";

const STREAM =
  "HTTP/1.1 100 Continue\r\n\r\n" +
  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello" +
  "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n" +
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: 1\r\n\r\n" +
  "HTTP/1.1 204 No Content\r\n\r\n" +
  "HTTP/1.1 500 Oops\r\nConnection: close\r\n\r\nto the end";

test("responses are parsed identically, however their bytes are split", () => {
  const bytes = Buffer.from(STREAM, "latin1");
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length), { maxLength: 20 }), (cuts) => {
      const reader = new ResponseReader(["GET", "HEAD", "GET", "GET", "GET"]);
      const ends = [...cuts.toSorted((a, b) => a - b), bytes.length];
      let start = 0;
      for (const end of ends) {
        reader.push(bytes.subarray(start, end));
        start = end;
      }
      expect(reader.completeCount).toBe(4);
      reader.end();
      expect(reader.error).toBeUndefined();
      expect(
        reader.responses.map(({ status, body, complete }) => [status, body, complete]),
      ).toEqual([
        [200, "hello", true],
        [200, "", true],
        [200, "abcde", true],
        [204, "", true],
        [500, "to the end", true],
      ]);
    }),
  );
});

test("a stream that is not HTTP is reported as invalid", () => {
  const reader = new ResponseReader(["GET"]);
  reader.push(Buffer.from("SSH-2.0-OpenSSH\r\n\r\n"));
  expect(reader.error).toBeDefined();
  expect(reader.responses).toEqual([]);
});
