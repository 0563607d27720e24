/** Goal: nothing is written beyond the buffer, and everything that fits is accepted. */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { applyUtm } from "../../api/links/record.ts";
import { toSlice } from "../../shared/bytes.ts";
import { LINK_RECORD_BYTES_MAX } from "../../shared/contracts/link-record.ts";
import { REDIRECT_STATUSES } from "../../shared/contracts/redirect-status.ts";
import { URL_LENGTH_MAX } from "../../shared/contracts/web-url.ts";
import { type LinkRedirect, PAGE_BYTES_MAX, type RedirectorResponse } from "./response.ts";
import {
  NO_ROOM,
  RESPONSE_BYTES_MAX,
  ResponseWriter,
  WRITE_BUFFER_BYTES,
  WriteBuffer,
} from "./write-buffer.ts";

const options = { method: "GET", keepAlive: true, now: 1_700_000_000_000 };

const redirectTo = (location: LinkRedirect["location"]): LinkRedirect => ({
  location,
  status: 302,
});

const anyPage = (bytesMax: number) =>
  fc
    .record({
      status: fc.constantFrom(200, 204, 404, 414),
      headers: fc.dictionary(
        fc.stringMatching(/^[a-z-]{1,20}$/),
        fc.stringMatching(/^[ -~é]{0,99}$/),
        {
          maxKeys: 9,
        },
      ),
      bytes: fc.nat({ max: bytesMax }),
    })
    .map(({ status, headers, bytes }) => ({ status, headers, body: Buffer.alloc(bytes, "x") }));
const anyRedirect = (bytesMax: number) =>
  fc
    .record({
      bytes: fc.nat({ max: bytesMax }),
      text: fc.boolean(),
      status: fc.constantFrom(...REDIRECT_STATUSES),
    })
    .map(({ bytes, text, status }) => ({
      location: text ? "é".repeat(bytes) : toSlice(Buffer.alloc(bytes, "x")),
      status,
    }));
const anyResponse = (bytesMax: number): fc.Arbitrary<RedirectorResponse> =>
  fc.oneof(anyPage(bytesMax), anyRedirect(bytesMax));
const anyOptions = fc.record({
  method: fc.constantFrom("GET", "HEAD"),
  keepAlive: fc.boolean(),
  now: fc.constant(options.now),
});

describe("the writer of responses", () => {
  test("writes a response that fits, and not a byte of one that does not", () => {
    const writer = new ResponseWriter();
    fc.assert(
      fc.property(
        anyResponse(2_000),
        anyOptions,
        fc.nat({ max: 99 }),
        (response, options, offset) => {
          const ample = Buffer.alloc(8_000);
          const length = writer.write(response, options, ample, 0);
          const exact = Buffer.alloc(offset + length, 1);
          expect(writer.write(response, options, exact, offset)).toBe(offset + length);
          expect(exact.subarray(offset)).toEqual(ample.subarray(0, length));
          const short = Buffer.alloc(offset + length - 1, 1);
          expect(writer.write(response, options, short, offset)).toBe(NO_ROOM);
          expect(short.every((byte) => byte === 1)).toBe(true);
        },
      ),
    );
  });
});

describe("the write buffer", () => {
  test("sends everything that was added, in order, and has room for any response when it is empty", () => {
    const writeBuffer = new WriteBuffer<number>();
    const anySteps = fc.array(
      fc.record({
        receiver: fc.nat({ max: 3 }),
        response: anyResponse(PAGE_BYTES_MAX),
        send: fc.nat({ max: 5 }).map((n) => n === 0),
      }),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(anySteps, (steps) => {
        const expected: Buffer[][] = [[], [], [], []];
        const received: Buffer[][] = [[], [], [], []];
        const send = () =>
          writeBuffer.send((receiver, bytes, start, end) => {
            received[receiver]?.push(Buffer.from(bytes.subarray(start, end)));
          });
        const writer = new ResponseWriter();
        const target = Buffer.alloc(WRITE_BUFFER_BYTES);
        for (const { receiver, response, send: sends } of steps) {
          if (!writeBuffer.add(receiver, response, options)) {
            send();
            expect(writeBuffer.add(receiver, response, options)).toBe(true);
          }
          const end = writer.write(response, options, target, 0);
          expected[receiver]?.push(Buffer.from(target.subarray(0, end)));
          if (sends) send();
        }
        send();
        const same = received.every((parts, i) =>
          Buffer.concat(parts).equals(Buffer.concat(expected[i] ?? [])),
        );
        expect(same).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  test.each([
    [301, "Moved Permanently"],
    [302, "Found"],
    [307, "Temporary Redirect"],
    [308, "Permanent Redirect"],
  ] as const)("writes a redirect with status %d, which no cache keeps", (status, reason) => {
    const target = Buffer.alloc(1_000);
    const writer = new ResponseWriter();
    const end = writer.write({ location: "https://example.com/", status }, options, target, 0);
    expect(target.toString("latin1", 0, end)).toBe(
      `HTTP/1.1 ${status} ${reason}\r\nDate: Tue, 14 Nov 2023 22:13:20 GMT\r\n` +
        "Cache-Control: private, no-store\r\nContent-Length: 0\r\nConnection: keep-alive\r\n" +
        "Location: https://example.com/\r\n\r\n",
    );
  });

  test("has room for the longest page and the longest record of a link", () => {
    expect(RESPONSE_BYTES_MAX).toBeGreaterThanOrEqual(
      Math.max(PAGE_BYTES_MAX, LINK_RECORD_BYTES_MAX) + 16 * 1024,
    );
    expect(WRITE_BUFFER_BYTES).toBeGreaterThan(RESPONSE_BYTES_MAX);
    const writeBuffer = new WriteBuffer<number>();
    const count = Math.floor(WRITE_BUFFER_BYTES / RESPONSE_BYTES_MAX);
    for (let i = 0; i < count; i++) {
      expect(writeBuffer.add(1, redirectTo("x".repeat(LINK_RECORD_BYTES_MAX)), options)).toBe(true);
    }
  });

  test("has room for the longest destination that a link may have, with all UTM parameters", () => {
    const value = "中".repeat(255);
    const utm = {
      utm_source: value,
      utm_medium: value,
      utm_campaign: value,
      utm_term: value,
      utm_content: value,
    };
    const longest = `https://example.com/?${"a".repeat(URL_LENGTH_MAX - 21)}`;
    const destination = Buffer.from(applyUtm(longest, utm));
    // A record also has ids, a password's hash and names.
    expect(destination.length).toBeLessThan(LINK_RECORD_BYTES_MAX / 2);
    const writeBuffer = new WriteBuffer<number>();
    expect(writeBuffer.add(1, redirectTo(toSlice(destination)), options)).toBe(true);
  });
});
