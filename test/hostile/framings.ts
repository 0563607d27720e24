/** Generators of hostile framing: request lines, lengths, single bytes. */
import { createSmallRequest, type Payload } from "./payload.ts";
import { createValidRequest, type Draft, toBytes } from "./requests.ts";

/** Request smuggling: framing that two parsers of one stream could interpret differently. */
function smuggled(draft: Draft): Payload {
  const { random } = draft;
  const request = createValidRequest(draft);
  const body = request.body ?? Buffer.from("x=1");
  const chunk = `${body.length.toString(16)}\r\n${body.toString("latin1")}\r\n`;
  const hidden = "GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const framings: readonly [[string[], string], ...[string[], string][]] = [
    [["Content-Length: 3", "Transfer-Encoding: chunked"], `0\r\n\r\n${hidden}`],
    [["Transfer-Encoding: chunked", "Content-Length: 999"], `${chunk}0\r\n\r\n`],
    [["Transfer-Encoding: chunked"], `${chunk}0\r\n\r\n`],
    [
      ["Transfer-Encoding: chunked"],
      `${chunk}0\r\n${"X-Trailer: 1\r\n".repeat(random.pick([1, 100, 3_000]))}\r\n`,
    ],
    [
      ["Transfer-Encoding: chunked"],
      `${body.length.toString(16)};${"a=b;".repeat(random.pick([1, 500, 20_000]))}\r\n${body.toString("latin1")}\r\n0\r\n\r\n`,
    ],
    [["Transfer-Encoding: chunked"], "ffffffffffffffff\r\nx"],
    [["Transfer-Encoding: chunked"], "-1\r\n\r\n"],
    [["Transfer-Encoding: chunked"], `${"0".repeat(10_000)}1\r\nx\r\n0\r\n\r\n`],
    [
      ["Transfer-Encoding: chunked"],
      "1\r\nx\r\n".repeat(random.pick([1_000, 20_000])).concat("0\r\n\r\n"),
    ],
    [["Transfer-Encoding: chunked"], "3\nabc\n0\n\n"],
    [["Transfer-Encoding: chunked"], "0x3\r\nabc\r\n0\r\n\r\n"],
    [["Transfer-Encoding:\x0bchunked"], chunk],
    [["Transfer-Encoding: xchunked"], chunk],
    [["Transfer-Encoding: chunked, identity"], chunk],
    [["Transfer-Encoding: gzip, chunked"], `${chunk}0\r\n\r\n`],
    [["Transfer-Encoding: chunked", "Transfer-Encoding: identity"], `${chunk}0\r\n\r\n`],
    [["transfer-encoding : chunked"], `${chunk}0\r\n\r\n`],
    [["Content-Length: 3", "Content-Length: 4"], "abcd"],
    [["Content-Length: 3, 3"], "abc"],
    [["Content-Length: +3"], "abc"],
    [["Content-Length: -1"], ""],
    [["Content-Length: 0x3"], "abc"],
    [["Content-Length: 3 "], "abc"],
    [["Content-Length: 99999999999999999999"], "abc"],
    [["Content-Length: 18446744073709551619"], "abc"],
    [["Content-Length: 1e1"], "abc"],
    [["Content-Length:"], ""],
    [["Content-Length: 0"], hidden],
    [[" Content-Length: 3"], "abc"],
    [["X: a\r\n Content-Length: 3"], "abc"],
    [["Upgrade: h2c", "Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: AAMAAABk"], ""],
    [
      [
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: x",
        "Sec-WebSocket-Version: 13",
      ],
      "",
    ],
  ];
  const [lines, rest] = random.pick(framings);
  const head = toBytes({ ...request, body: undefined }).toString("latin1");
  const bytes = Buffer.from(`${head.slice(0, -2)}${lines.join("\r\n")}\r\n\r\n${rest}`, "latin1");
  return { bytes, methods: [request.method], complete: false };
}

/** Malformed request lines, and those of other protocols. */
function lines(draft: Draft): Payload {
  const { random } = draft;
  const request = createValidRequest(draft);
  const text = toBytes(request).toString("latin1");
  const { path, method } = request;
  const rest = text.slice(text.indexOf("\r\n"));
  const line = random.pick([
    `${method} ${path}`,
    `${method} ${path} HTTP/0.9`,
    `${method} ${path} HTTP/1.0`,
    `${method} ${path} HTTP/1.2`,
    `${method} ${path} HTTP/2.0`,
    `${method} ${path} HTTP/3`,
    `${method} ${path} HTTP/99999999999999999999.1`,
    `${method} ${path} http/1.1`,
    `${method}  ${path}  HTTP/1.1`,
    `${method}\t${path}\tHTTP/1.1`,
    ` ${method} ${path} HTTP/1.1`,
    `\r\n\r\n${method} ${path} HTTP/1.1`,
    `${"\r\n".repeat(5_000)}${method} ${path} HTTP/1.1`,
    `${method.toLowerCase()} ${path} HTTP/1.1`,
    `${"A".repeat(random.pick([30, 20_000]))} ${path} HTTP/1.1`,
    `${random.pick(["TRACE", "CONNECT", "OPTIONS", "PUT", "PROPFIND", "QUERY", "HEAD", "__proto__"])} ${path} HTTP/1.1`,
    "OPTIONS * HTTP/1.1",
    "CONNECT localhost:22 HTTP/1.1",
    `${method} http://localhost${path} HTTP/1.1`,
    `${method} http://a@b:99999999${path} HTTP/1.1`,
    `${method} //evil.example${path} HTTP/1.1`,
    `${method} ${path}#fragment HTTP/1.1`,
    `${method} /${"/".repeat(random.pick([10, 8_000]))} HTTP/1.1`,
    `${method} /${"../".repeat(random.pick([10, 4_000]))} HTTP/1.1`,
    `${method} ${path.slice(1)} HTTP/1.1`,
    `${method} ? HTTP/1.1`,
    `${method} \\${path} HTTP/1.1`,
    `${method} ${path}\x00 HTTP/1.1`,
    "PRI * HTTP/2.0",
    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "PROXY TCP4 1.2.3.4 5.6.7.8 1 2",
    "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c",
  ]);
  const broken =
    random.between(0, 3) === 0
      ? rest.replaceAll("\r\n", random.pick(["\n", "\r", "\r\r\n"]))
      : rest;
  const [sentMethod = method] = line.trim().split(/\s/);
  return { bytes: Buffer.from(line + broken, "latin1"), methods: [sentMethod], complete: false };
}

/** Changes, duplicates and removes bytes of a valid request. */
function mutated(draft: Draft): Payload {
  const { random } = draft;
  const request = createSmallRequest(draft);
  let bytes = toBytes(request);
  for (let i = random.between(1, 8); i > 0; i--) {
    const at = random.between(0, bytes.length - 1);
    const [before, after] = [bytes.subarray(0, at), bytes.subarray(at + 1)];
    bytes = random.pick([
      () => Buffer.concat([before, Buffer.from([random.between(0, 255)]), after]),
      () => Buffer.concat([before, after]),
      () =>
        Buffer.concat([
          before,
          bytes.subarray(at, at + random.between(1, 100)),
          bytes.subarray(at),
        ]),
    ])();
    if (bytes.length === 0) break;
  }
  return { bytes, methods: [request.method], complete: false };
}

export const FRAMINGS = { smuggled, lines, mutated } as const;
