import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { readProxyHeader } from "./proxy-protocol.ts";

const REQUEST = "GET /abc HTTP/1.1\r\nHost: a\r\n\r\n";
const SIGNATURE = "0d0a0d0a000d0a515549540a";

/** Builds a header of version 2. */
function binary(command: number, family: number, rest: Buffer): Buffer {
  const fixed = Buffer.concat([Buffer.from(SIGNATURE, "hex"), Buffer.alloc(4)]);
  fixed.writeUInt8(command, 12);
  fixed.writeUInt8(family, 13);
  fixed.writeUInt16BE(rest.length, 14);
  return Buffer.concat([fixed, rest]);
}

const V4 = Buffer.from([203, 0, 113, 9, 10, 0, 0, 1, 0x1f, 0x90, 0, 80]);
const V6 = Buffer.concat([
  Buffer.from("20010db8000000000000000000000042", "hex"),
  Buffer.alloc(16, 1),
  Buffer.from([0x1f, 0x90, 0, 80]),
]);

describe("a PROXY header", () => {
  const valid: [string, Buffer, string | undefined][] = [
    [
      "of version 1, IPv4",
      Buffer.from("PROXY TCP4 203.0.113.9 10.0.0.1 5000 80\r\n"),
      "203.0.113.9",
    ],
    ["of version 1, IPv6", Buffer.from("PROXY TCP6 2001:db8::42 ::1 5000 80\r\n"), "2001:db8::42"],
    ["of version 1, unknown", Buffer.from("PROXY UNKNOWN\r\n"), undefined],
    ["of version 1, unknown with more", Buffer.from("PROXY UNKNOWN ffff:: ::1 0 0\r\n"), undefined],
    ["of version 2, IPv4", binary(0x21, 0x11, V4), "203.0.113.9"],
    ["of version 2, IPv6", binary(0x21, 0x21, V6), "2001:db8::42"],
    [
      "of version 2, with extensions",
      binary(0x21, 0x11, Buffer.concat([V4, Buffer.alloc(9)])),
      "203.0.113.9",
    ],
    ["of version 2, the proxy's own", binary(0x20, 0x00, Buffer.alloc(0)), undefined],
    ["of version 2, unspecified", binary(0x21, 0x00, Buffer.alloc(3)), undefined],
  ];

  test.each(valid)(
    "%s is read when it is complete, wherever it is cut, up to its end",
    (_name, header, address) => {
      const bytes = Buffer.concat([header, Buffer.from(REQUEST)]);
      expect(readProxyHeader(bytes)).toEqual({ kind: "header", end: header.length, address });
      for (let cut = 0; cut < header.length; cut++) {
        expect(readProxyHeader(bytes.subarray(0, cut))).toEqual({ kind: "partial" });
      }
    },
  );

  test.each([
    ["a request instead", Buffer.from(REQUEST)],
    ["an address of another family", Buffer.from("PROXY TCP4 2001:db8::42 ::1 5000 80\r\n")],
    ["no address", Buffer.from("PROXY TCP4 localhost 10.0.0.1 5000 80\r\n")],
    ["no port", Buffer.from("PROXY TCP4 203.0.113.9 10.0.0.1\r\n")],
    ["a port out of range", Buffer.from("PROXY TCP4 203.0.113.9 10.0.0.1 70000 80\r\n")],
    ["another family", Buffer.from("PROXY UDP4 203.0.113.9 10.0.0.1 5000 80\r\n")],
    ["a line without end", Buffer.from(`PROXY TCP4 ${"1".repeat(200)}`)],
    ["a line beyond its bound", Buffer.from(`PROXY UNKNOWN ${"1".repeat(200)}\r\n`)],
    ["another version", binary(0x31, 0x11, V4)],
    ["another command", binary(0x22, 0x11, V4)],
    ["another transport", binary(0x21, 0x12, V4)],
    ["addresses cut short", binary(0x21, 0x11, V4.subarray(0, 8))],
    ["more than a header needs", binary(0x21, 0x11, Buffer.alloc(60_000))],
  ])("is rejected: %s", (_name, bytes) => {
    expect(readProxyHeader(bytes)).toEqual({ kind: "rejected" });
  });

  test("of any bytes never ends beyond them", () => {
    const start = fc.constantFrom(
      "",
      "PROXY ",
      "PROXY TCP4 ",
      Buffer.from(SIGNATURE, "hex").toString("latin1"),
    );
    fc.assert(
      fc.property(start, fc.uint8Array({ maxLength: 200 }), (beginning, rest) => {
        const bytes = Buffer.concat([Buffer.from(beginning, "latin1"), rest]);
        const header = readProxyHeader(bytes);
        if (header.kind === "header") expect(header.end).toBeLessThanOrEqual(bytes.length);
      }),
    );
  });
});
