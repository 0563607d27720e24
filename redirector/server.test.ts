/** Goal: whatever comes over a connection, each request is answered once and in its turn, or refused. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { join } from "node:path";

import fc from "fast-check";

import { passageText } from "../shared/bytes.ts";
import { eventually } from "../test/harness/eventually.ts";
import type { Incoming } from "./handler.ts";
import { type Answer, createAnswerWriter } from "./http/answer.ts";
import { startServer } from "./server.ts";

const SLOW_MS = 20;
const LARGE = "x".repeat(60_000);

let server: ReturnType<typeof startServer>;
let port: number;
let commits = 0;
let asked: string[] = [];

/** Answers with where it was asked for; `/slow` later, `/large` at length. */
function handle({ head, body }: Incoming): Answer | Promise<Answer> {
  const path = head.bytes.toString("latin1", head.path.start, head.path.end);
  const text = `${path} ${passageText(body)}`.trim();
  asked.push(text);
  if (path.startsWith("/fail")) return Promise.reject(new Error("Something is broken."));
  if (path.startsWith("/slow")) return Bun.sleep(SLOW_MS).then(() => ({ location: text }));
  if (path.startsWith("/large")) return { status: 200, headers: {}, body: LARGE };
  if (path === "/page") return { status: 404, headers: {}, body: "söme text" };
  return { location: text };
}

const deps: Parameters<typeof startServer>[1] = {
  handle,
  writer: createAnswerWriter(),
  commit: () => void commits++,
  bodyBytesMax: 1_000,
  connectionsMax: 2_000,
  proxyProtocol: false,
  addressOf: (peer) => peer,
  onError: () => undefined,
};

beforeAll(() => {
  server = startServer({ host: "127.0.0.1", port: 0, tls: undefined }, deps);
  port = Number(server.url.port);
});
afterAll(() => server.stop());

const get = (path: string, fields = ""): string =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\n${fields}\r\n`;

/** Sends pieces one after the other, and gives all that came back when the connection has ended. */
async function exchange(
  pieces: readonly (string | Buffer)[],
  { end = false, at = port } = {},
): Promise<string> {
  const socket = await open(at);
  let answer = "";
  socket.on("data", (data: Buffer) => void (answer += data.toString("latin1")));
  const closed = new Promise((resolve) => socket.on("close", resolve));
  for (const piece of pieces) {
    socket.write(piece);
    // So that the pieces do not arrive as one.
    if (pieces.length > 1) await Bun.sleep(0);
  }
  if (end) socket.end();
  await closed;
  return answer;
}

function open(at = port): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: at, host: "127.0.0.1", noDelay: true }, () => resolve(socket));
    socket.on("error", reject);
  });
}

/** Not all at once: what a listener has not accepted yet has a bound in the kernel. */
async function openMany(count: number): Promise<(Socket | undefined)[]> {
  const sockets: (Socket | undefined)[] = [];
  while (sockets.length < count) {
    const some = Array.from({ length: 100 }, () => open().catch(() => undefined));
    sockets.push(...(await Promise.all(some)));
  }
  return sockets;
}

const LAST = get("/last", "Connection: close\r\n");

/** What was answered: status, and where to. */
function answers(text: string): string[] {
  const found: string[] = [];
  for (let at = 0; at < text.length;) {
    const end = text.indexOf("\r\n\r\n", at);
    const head = text.slice(at, end);
    const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(head) ?? [];
    if (end < 0 || status === undefined) throw new Error(`No answer: ${text.slice(at, at + 200)}`);
    const [, location] = /\r\nLocation: (.*)$/m.exec(head) ?? [];
    found.push(location === undefined ? status : `${status} ${location}`);
    at = end + 4 + Number(/\r\nContent-Length: (\d+)/.exec(head)?.[1] ?? 0);
  }
  return found;
}

const pausedRead = () => asked.filter((path) => path === "/large-paused").length;

describe("a connection", () => {
  test("has its requests answered in their order, however they come, slow ones too", async () => {
    const requests = [get("/1"), get("/slow2"), get("/page"), get("/slow3"), get("/4"), LAST];
    const expected = ["302 /1", "302 /slow2", "404", "302 /slow3", "302 /4", "302 /last"];
    expect(answers(await exchange([requests.join("")]))).toEqual(expected);
    expect(answers(await exchange(requests))).toEqual(expected);
    expect(answers(await exchange(requests.join("").split("")))).toEqual(expected);
  });

  test("may be cut at every byte", async () => {
    const post = "POST /form HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
    const text = `${get("/cut")}${post}${LAST}`;
    const cuts = Array.from({ length: text.length - 1 }, (_, i) => i + 1);
    for (let start = 0; start < cuts.length; start += 20) {
      const some = cuts.slice(start, start + 20);
      const all = await Promise.all(
        some.map((cut) => exchange([text.slice(0, cut), text.slice(cut)])),
      );
      for (const answer of all)
        expect(answers(answer)).toEqual(["302 /cut", "302 /form hello", "302 /last"]);
    }
  });

  test("that is half closed gets what it has asked for", async () => {
    for (const request of [get("/half"), get("/slow-half"), get("/half") + get("/slow-half")]) {
      const text = await exchange([request], { end: true });
      expect(answers(text)).toHaveLength(request.split("GET").length - 1);
      expect(text).toContain("half");
    }
    expect(await exchange([get("/x").slice(0, -3)], { end: true })).toBe("");
  });

  test("of HTTP/1.0 is closed unless it asks otherwise", async () => {
    expect(answers(await exchange(["GET /old HTTP/1.0\r\n\r\n"]))).toEqual(["302 /old"]);
    const kept = "GET /kept HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
    const text = await exchange([kept + LAST]);
    expect(answers(text)).toEqual(["302 /kept", "302 /last"]);
    expect(text).toContain("Connection: keep-alive");
  });

  test("ends when an answer cannot be made, and others go on", async () => {
    expect(await exchange([get("/fail")])).toBe("");
    expect(answers(await exchange([LAST]))).toEqual(["302 /last"]);
  });

  test("that does not take its answers is not read on, and gets all of them in the end", async () => {
    const socket = await open();
    socket.pause();
    const count = 200;
    socket.write(get("/large-paused").repeat(count) + LAST);
    await Bun.sleep(200);
    expect(pausedRead()).toBeLessThan(count);
    let bytes = 0;
    socket.on("data", (data: Buffer) => void (bytes += data.length));
    socket.resume();
    await new Promise((resolve) => socket.on("close", resolve));
    expect(pausedRead()).toBe(count);
    expect(bytes).toBeGreaterThan(count * LARGE.length);
  });

  test("that is reset in between harms nobody", async () => {
    for (let i = 0; i < 200; i++) {
      const socket = await open();
      socket.on("error", () => undefined);
      socket.write(i % 2 === 0 ? get("/slow-reset") : get("/large").repeat(20));
      socket.resetAndDestroy();
    }
    expect(answers(await exchange([LAST]))).toEqual(["302 /last"]);
    await eventually(async () => expect(server.connections().open).toBe(0), 5_000);
  });

  test("may be one of thousands that say nothing", async () => {
    const idle = await openMany(1_500);
    expect(answers(await exchange([LAST]))).toEqual(["302 /last"]);
    await eventually(async () => expect(server.connections().open).toBe(1_500), 10_000);
    // Beyond the bound a further one is closed at once.
    const more = await Promise.all(
      Array.from({ length: 600 }, () => open().catch(() => undefined)),
    );
    await eventually(async () => expect(server.connections().refused).toBeGreaterThan(50), 5_000);
    for (const socket of [...idle, ...more]) socket?.destroy();
    await eventually(async () => expect(server.connections().open).toBe(0), 5_000);
  });

  test("that is slow to say what it wants is cut off", async () => {
    const before = Date.now();
    expect(await exchange([get("/never").slice(0, 20)])).toBe("");
    expect(Date.now() - before).toBeGreaterThan(4_000);
  });

  test("has the clicks of its requests written before they are answered", async () => {
    const before = commits;
    await exchange([LAST]);
    expect(commits).toBeGreaterThan(before);
  });
});

describe("what could be read in two ways", () => {
  const SMUGGLED = get("/smuggled");
  test.each([
    [
      "a length and a coding",
      `POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
    ],
    [
      "a coding and a length",
      `POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`,
    ],
    [
      "a coding alone",
      `POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
    ],
    [
      "a coding with a blank before its colon",
      `POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n${SMUGGLED}`,
    ],
    [
      "a coding on a folded line",
      `POST /a HTTP/1.1\r\nHost: a\r\nX: y\r\n Transfer-Encoding: chunked\r\n\r\n${SMUGGLED}`,
    ],
    [
      "two lengths",
      `POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`,
    ],
    [
      "a list of lengths",
      `POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 0, ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`,
    ],
    ["a signed length", `POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: +0\r\n\r\n${SMUGGLED}`],
    [
      "a body where none belongs",
      `GET /a HTTP/1.1\r\nHost: a\r\nContent-Length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`,
    ],
    ["a line feed for a line's end", `GET /a HTTP/1.1\r\nHost: a\nX: y\r\n\r\n${SMUGGLED}`],
    [
      "a carriage return within a line",
      `GET /a HTTP/1.1\r\nHost: a\r\nX: y\rGET /smuggled HTTP/1.1\r\n\r\n`,
    ],
    ["a NUL", `GET /a HTTP/1.1\r\nHost: a\r\nX: \u0000\r\n\r\n${SMUGGLED}`],
    ["two hosts", `GET /a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n${SMUGGLED}`],
    [
      "a line without a colon",
      `GET /a HTTP/1.1\r\nHost: a\r\nGET /smuggled HTTP/1.1\r\n\r\n${SMUGGLED}`,
    ],
    [
      "a body too large",
      `POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n${SMUGGLED}`,
    ],
    [
      "a head too large",
      `GET /a HTTP/1.1\r\nHost: a\r\nX: ${"y".repeat(20_000)}\r\n\r\n${SMUGGLED}`,
    ],
    [
      "something else than HTTP",
      "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003",
    ],
  ])("is refused once, and the connection ends: %s", async (_name, text) => {
    asked = [];
    const answer = await exchange([Buffer.from(text, "latin1")]);
    expect(answers(answer)).toHaveLength(1);
    expect(answer).toMatch(/^HTTP\/1\.1 (400|413|431|501) /);
    expect(answer).toContain("Connection: close");
    expect(asked).toEqual([]);
  });
});

test("any run of requests is answered the same, in whatever pieces it comes", async () => {
  const request = fc.oneof(
    fc.nat({ max: 999 }).map((n) => ({ text: get(`/n${n}`), answer: `302 /n${n}` })),
    fc.nat({ max: 999 }).map((n) => ({ text: get(`/slow${n}`), answer: `302 /slow${n}` })),
    fc.constant({ text: get("/page"), answer: "404" }),
    fc
      .string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 300 })
      .map((body) => ({
        text: `POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        answer: `302 /p ${body}`,
      })),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(request, { maxLength: 12 }),
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 }),
      async (requests, cuts) => {
        const text = requests.map((r) => r.text).join("") + LAST;
        const at = [0, ...cuts.map((cut) => Math.floor(cut * text.length)), text.length].toSorted(
          (a, b) => a - b,
        );
        const pieces = at
          .slice(1)
          .map((end, i) => text.slice(at[i] ?? 0, end))
          .filter((piece) => piece !== "");
        expect(answers(await exchange(pieces))).toEqual([
          ...requests.map((r) => r.answer),
          "302 /last",
        ]);
      },
    ),
    { numRuns: 300 },
  );
});

describe("a server behind a proxy that speaks the PROXY protocol", () => {
  const announced = "PROXY TCP4 203.0.113.9 10.0.0.1 5000 80\r\n";
  const last = get("/", "Connection: close\r\n");
  let behind: ReturnType<typeof startServer>;
  let at: number;
  beforeAll(() => {
    behind = startServer(
      { host: "127.0.0.1", port: 0, tls: undefined },
      { ...deps, handle: ({ peer }) => ({ location: `/${peer}` }), proxyProtocol: true },
    );
    at = Number(behind.url.port);
  });
  afterAll(() => behind.stop());

  test("takes its word on whose each connection is, for all of its requests", async () => {
    const answers = await exchange([announced + get("/") + last], { at });
    expect(answers.match(/(?<=Location: )[^\r]*/g)).toEqual(["/203.0.113.9", "/203.0.113.9"]);
  });

  test("takes it in pieces", async () => {
    const pieces = (announced + last).split("");
    expect(await exchange(pieces, { at })).toContain("Location: /203.0.113.9\r\n");
  });

  test("answers nobody without it", async () => {
    expect(await exchange([last], { at })).toBe("");
  });
});

describe("a server with a certificate", () => {
  test("answers over TLS, and nobody without", async () => {
    const fixtures = join(import.meta.dir, "fixtures");
    const tls = {
      cert: join(fixtures, "localhost-cert.pem"),
      key: join(fixtures, "localhost-key.pem"),
    };
    const safe = startServer({ host: "127.0.0.1", port: 0, tls }, deps);
    const url = `https://localhost:${safe.url.port}/abc`;
    const ca = Bun.file(tls.cert);
    for (let i = 0; i < 3; i++) {
      const { status, headers } = await fetch(url, { redirect: "manual", tls: { ca } });
      expect([status, headers.get("location")]).toEqual([302, "/abc"]);
    }
    const large = await fetch(`https://localhost:${safe.url.port}/large`, { tls: { ca } });
    expect(await large.text()).toBe(LARGE);
    const plain = get("/", "Connection: close\r\n");
    expect(await exchange([plain], { at: Number(safe.url.port) })).not.toContain("302");
    await safe.stop();
  });
});
