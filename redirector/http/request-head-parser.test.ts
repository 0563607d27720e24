import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import type { ByteRange } from "../../shared/bytes.ts";
import { casesOf } from "../../test/harness/property-runs.ts";
import { RequestHeadParser } from "./request-head-parser.ts";
import { RequestHead, toLatin1 } from "./request.ts";

const parse = (text: string, parser = new RequestHeadParser()) => {
  // Other bytes follow in the same memory and must not be read.
  const bytes = Buffer.from(`${text}\r\n\r\nGET`, "latin1").subarray(0, text.length);
  const result = parser.parse(bytes, 0);
  const { head } = parser;
  const textOf = ({ start, end }: ByteRange) => head.bytes.toString("latin1", start, end);
  return { result, head, textOf };
};

const status = (text: string) => {
  const { result } = parse(text);
  return result.kind === "rejected" ? result.status : result.kind;
};

const GET = "GET /abc HTTP/1.1\r\nHost: sho.rt\r\n";

describe("the head of a request", () => {
  test("is parsed into what a redirect and its click need", () => {
    const text =
      "GET /abc?x=1&y=%20 HTTP/1.1\r\nhOsT:sho.rt:8080 \r\nUser-Agent: Mozilla/5.0 (X)\r\n" +
      "Referer: https://e.com/?a=b\r\nAccept-Language: de,en;q=0.5\r\nX-Forwarded-For: 1.2.3.4, 5.6.7.8\r\n" +
      "X-Forwarded-For: 9.9.9.9\r\nSec-Purpose: prefetch;prerender\r\nDNT: 1\r\nCookie: a=b\r\nX-Empty:\r\n\r\nrest";
    const { result, head, textOf } = parse(text);
    expect(result).toEqual({ kind: "complete" });
    expect(head).toMatchObject({
      length: text.length - 4,
      method: "GET",
      host: "sho.rt:8080",
      keepAlive: true,
      contentLength: 0,
      forwardedFor: "1.2.3.4, 5.6.7.8,9.9.9.9",
      prefetch: true,
      privacy: true,
    });
    expect(
      [head.path, head.query, head.userAgent, head.referrer, head.language, head.cookie].map(
        textOf,
      ),
    ).toEqual(["/abc", "x=1&y=%20", "Mozilla/5.0 (X)", "https://e.com/?a=b", "de,en;q=0.5", "a=b"]);
  });

  test.each([
    ["Sec-Fetch-Dest: document", false],
    ["Sec-Fetch-Dest: Document", false],
    ["Sec-Fetch-Dest:", false],
    // As Node's fetch has it.
    ["Sec-Fetch-Mode: cors", false],
    ["Sec-Fetch-Site: cross-site", false],
    ...["image", "script", "style", "font", "video", "object", "embed", "frame", "iframe"].map(
      (value) => [`Sec-Fetch-Dest: ${value}`, true] as const,
    ),
    ["Sec-Fetch-Dest: empty", true],
    ["Sec-Fetch-Dest: documents", true],
  ] as const)("%p is of a load within a page: %p", (field, embedded) => {
    expect(parse(`${GET}${field}\r\n\r\n`).head.embedded).toBe(embedded);
  });

  test.each([
    ["_qr", "", true],
    ["_qr&a=1&b=2", "a=1&b=2", true],
    ["a=1&_qr&b=2", "a=1&b=2", true],
    ["a=1&b=2&_qr", "a=1&b=2", true],
    ["_qr&a&_qr&_qr&%C3%BC&_qr", "a&%C3%BC", true],
    ["&_qr&&a", "&&a", true],
    ["_qr&_qr", "", true],
    ["_qr=", "_qr=", false],
    ["_qr=1&a", "_qr=1&a", false],
    ["%5Fqr&_%71r", "%5Fqr&_%71r", false],
    ["_QR&_qrx&x_qr&a=_qr&_q", "_QR&_qrx&x_qr&a=_qr&_q", false],
    ["a;_qr", "a;_qr", false],
    ["&&a&&", "&&a&&", false],
    ["", "", false],
  ] as const)("of the query %p is left %p, without the mark of QR codes", (sent, left, scanned) => {
    for (const target of ["/abc", "http://sho.rt/abc"]) {
      const { head } = parse(
        `GET ${target}?${sent} HTTP/1.1\r\nHost: sho.rt\r\nCookie: _qr\r\n\r\n`,
      );
      expect([toLatin1(head, head.query), head.scanned]).toEqual([left, scanned]);
      expect([toLatin1(head, head.path), toLatin1(head, head.cookie)]).toEqual(["/abc", "_qr"]);
    }
  });

  test("leaves nothing for the next one", () => {
    const parser = new RequestHeadParser();
    parse(
      `${GET.replace(" HTTP", "?_qr HTTP")}User-Agent: x\r\nDNT: 1\r\nX-Moz: prefetch\r\nSec-Fetch-Dest: image\r\nX-Forwarded-For: 1.1.1.1\r\nConnection: close\r\n\r\n`,
      parser,
    );
    parse("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n", parser);
    // The rest of an earlier head is not taken for the end of a truncated one.
    expect(parse(GET, parser).result.kind).toBe("partial");
    const { head } = parse(`${GET}\r\n`, parser);
    const { path, query } = head;
    const values = { length: GET.length + 2, method: "GET", host: "sho.rt", path, query };
    expect(head).toEqual(Object.assign(new RequestHead(head.bytes), values));
  });

  test("may arrive in pieces: every beginning of a valid one is partial", () => {
    const text = `\r\n${GET}User-Agent: x\r\nContent-Length: 0\r\n\r\n`;
    for (let length = 0; length < text.length; length++) {
      expect([length, status(text.slice(0, length))]).toEqual([length, "partial"]);
    }
    expect(status(text)).toBe("complete");
  });

  test("is never parsed beyond its blank line, and never throws, for any bytes", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "GET",
        "POST",
        " ",
        "/",
        "/a",
        "?",
        " HTTP/1.1",
        "\r\n",
        "\r",
        "\n",
        "Host: a",
        "Host",
        ":",
      ),
      fc.constantFrom(
        "Content-Length: 3",
        "Transfer-Encoding: chunked",
        "\t",
        "\u0000",
        "\r\n\r\n",
        "X: y",
      ),
      fc.string({ unit: "binary", maxLength: 5 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 25 }), (pieces) => {
        const text = pieces.join("");
        const { result, head } = parse(text);
        if (result.kind !== "complete") return;
        expect(text.slice(0, head.length)).toEndWith("\r\n\r\n");
        expect(text.slice(2, head.length - 2)).not.toContain("\r\n\r\n");
        expect(status(text.slice(0, head.length))).toBe("complete");
      }),
      { numRuns: casesOf(20_000) },
    );
  });
});
