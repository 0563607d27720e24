/**
 * Goal: for any bytes on a connection, each request gets one response, in order, or is rejected.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";

import fc from "fast-check";

import { sliceToString } from "../../shared/bytes.ts";
import { processLog } from "../../shared/log.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { casesOf } from "../../test/harness/property-runs.ts";
import { redirectorConfig } from "../../test/harness/redirector-config.ts";
import type { Config } from "../config.ts";
import { Connection, isTimedOut } from "./connection.ts";
import type { IncomingRequest, RequestHandler } from "./request.ts";
import type { LinkRedirect, RedirectorResponse } from "./response.ts";
import { Server } from "./server.ts";
import { WRITE_BUFFER_BYTES } from "./write-buffer.ts";

const SLOW_MS = 5;
/**
 * Longer than a turn of the event loop may take before each connection gets only one more request.
 */
const COSTLY_MS = 6;
const LARGE = Buffer.alloc(60_000, "x");

/** How many requests had been handled when each turn of the event loop was over. */
let turns: number[] = [];
let handled: string[] = [];

/** Keeps the event loop busy, as rules that look at a long request do. */
function spend(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/** Redirects to the request's path and body; `/slow` after a delay, `/large` with a long body. */
function handle({ head, body }: IncomingRequest): RedirectorResponse | Promise<RedirectorResponse> {
  const path = head.bytes.toString("latin1", head.path.start, head.path.end);
  // Of /c in hexadecimal digits: a Location cannot contain every byte.
  const sent =
    path === "/c" ? Buffer.from(sliceToString(body)).toString("hex") : sliceToString(body);
  const text = `${path} ${sent}`.trim();
  handled.push(text);
  if (path === "/costly") spend(COSTLY_MS);
  if (path.startsWith("/fail")) return Promise.reject(new Error("Something is broken."));
  if (path.startsWith("/slow")) return Bun.sleep(SLOW_MS).then(() => redirectTo(text));
  if (path.startsWith("/throw")) throw new Error("Something is broken.");
  if (path.startsWith("/huge")) return redirectTo("x".repeat(WRITE_BUFFER_BYTES));
  if (path.startsWith("/large")) return { status: 200, headers: {}, body: LARGE };
  if (path === "/page") return { status: 404, headers: {}, body: Buffer.from("söme text") };
  return redirectTo(text);
}

const respondLater = () => Bun.sleep(400).then(() => redirectTo("/later"));

const redirectTo = (location: string): LinkRedirect => ({ location, status: 302 });

const handler: RequestHandler = {
  formBytesMax: 1_000,
  handle,
  commit: () => void turns.push(handled.length),
};

const CONNECTIONS_MAX = 2_000;

/** Starts a server whose configuration and handler a test changes. */
function start(
  change: Partial<Config> = {},
  handling: Partial<RequestHandler> = {},
  limits: { pipelinedBytesMax?: number; secondMs?: number } = {},
): Server {
  const config = redirectorConfig({
    CONNECTIONS_MAX,
    CONNECTIONS_PER_ADDRESS_MAX: CONNECTIONS_MAX,
    ...change,
  });
  return new Server(config, { ...handler, ...handling }, processLog("test", "silent"), limits);
}

/** Errors of a server, by their reason. */
const errorsOf = ({ connections }: Server): Record<string, number> =>
  Object.fromEntries(Object.entries(connections.errors).filter(([, count]) => count > 0));

const server = await forFile(start(), (server) => server.stop());
const port = Number(server.url.port);

const get = (path: string, fields = ""): string =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\n${fields}\r\n`;

/**
 * Sends pieces one after the other, and returns everything received until the connection is closed.
 */
async function exchange(
  pieces: readonly (string | Buffer)[],
  { end = false, at = port } = {},
): Promise<string> {
  const socket = await open(at);
  let received = "";
  socket.on("data", (data: Buffer) => void (received += data.toString("latin1")));
  const closed = new Promise((resolve) => socket.on("close", resolve));
  for (const piece of pieces) {
    socket.write(piece);
    // Otherwise the pieces would arrive as one.
    if (pieces.length > 1) await Bun.sleep(0);
  }
  if (end) socket.end();
  await closed;
  return received;
}

function open(at = port, localAddress = "127.0.0.1"): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const options = { port: at, host: "127.0.0.1", localAddress, noDelay: true };
    const socket = connect(options, () => resolve(socket));
    socket.on("error", reject);
  });
}

const LAST = get("/last", "Connection: close\r\n");

/** Parses responses: the status and Location of each. */
function parseResponses(text: string): string[] {
  const found: string[] = [];
  for (let at = 0; at < text.length;) {
    const end = text.indexOf("\r\n\r\n", at);
    const head = text.slice(at, end);
    const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(head) ?? [];
    if (end < 0 || status === undefined)
      throw new Error(`Not a response: ${text.slice(at, at + 200)}`);
    const [, location] = /\r\nLocation: (.*)$/m.exec(head) ?? [];
    found.push(location === undefined ? status : `${status} ${location}`);
    at = end + 4 + Number(/\r\nContent-Length: (\d+)/.exec(head)?.[1] ?? 0);
  }
  return found;
}

/** The most requests that one turn of the event loop has handled while something ran. */
async function countMostInTurn(run: () => Promise<void>): Promise<number> {
  const [turnsBefore, handledBefore] = [turns.length, handled.length];
  await run();
  const ends = turns.slice(turnsBefore);
  return Math.max(...ends.map((end, i) => end - (ends[i - 1] ?? handledBefore)));
}

const countPausedRequests = () => handled.filter((path) => path === "/large-paused").length;

describe("a connection", () => {
  test("gets responses in the order of its requests, however they arrive, slow ones too", async () => {
    const requests = [get("/1"), get("/slow2"), get("/page"), get("/slow3"), get("/4"), LAST];
    const expected = ["302 /1", "302 /slow2", "404", "302 /slow3", "302 /4", "302 /last"];
    expect(parseResponses(await exchange([requests.join("")]))).toEqual(expected);
    expect(parseResponses(await exchange(requests))).toEqual(expected);
    expect(parseResponses(await exchange(requests.join("").split("")))).toEqual(expected);
  });

  test("gets one response a turn while its requests are costly, and others come between them", async () => {
    const pieces = [get("/costly").repeat(20) + LAST];
    const most = await countMostInTurn(async () => {
      const texts = await Promise.all([exchange(pieces), exchange(pieces)]);
      for (const text of texts) expect(parseResponses(text)).toHaveLength(21);
    });
    // One of each connection.
    expect(most).toBeLessThanOrEqual(2);
  });

  test("gets one long response a turn, as its client may read none of them", async () => {
    const most = await countMostInTurn(async () => {
      const text = await exchange([get("/large").repeat(20) + LAST]);
      expect(parseResponses(text)).toHaveLength(21);
    });
    expect(most).toBe(1);
  });

  test("waits for one request of another network at most, however many connections that has", async () => {
    const others = await Promise.all(Array.from({ length: 50 }, () => open()));
    const socket = await open(port, "127.0.0.2");
    const before = handled.length;
    // All arrive before the first is read.
    for (const other of others) other.write(get("/costly"));
    socket.write(get("/other"));
    await eventually(async () => expect(handled.length - before).toBe(51));
    // Some are read as they arrive, until the turn has taken its time.
    expect(handled.slice(before).indexOf("/other")).toBeLessThan(5);
    for (const each of [...others, socket]) each.destroy();
  });

  test("that is half closed gets its responses", async () => {
    for (const request of [get("/half"), get("/slow-half"), get("/half") + get("/slow-half")]) {
      const text = await exchange([request], { end: true });
      expect(parseResponses(text)).toHaveLength(request.split("GET").length - 1);
      expect(text).toContain("half");
    }
    expect(await exchange([get("/x").slice(0, -3)], { end: true })).toBe("");
  });

  test.each([
    ["/fail", "request"],
    ["/throw", "request"],
    ["/huge", "response"],
  ])("is closed when its response fails, and others are not: %s", async (path, reason) => {
    const before: Record<string, number> = { ...server.connections.errors };
    expect(await exchange([get(path)])).toBe("");
    // Earlier requests get their responses, and later ones are not read.
    const earlier = [get("/1"), get("/slow2")].join("");
    expect(parseResponses(await exchange([earlier + get(path) + get("/after")]))).toEqual([
      "302 /1",
      "302 /slow2",
    ]);
    expect(handled).not.toContain("/after");
    const { errors } = server.connections;
    const added = Object.entries(errors).map(([name, count]) => [
      name,
      count - (before[name] ?? 0),
    ]);
    expect(added.filter(([, count]) => count !== 0)).toEqual([[reason, 2]]);
    expect(parseResponses(await exchange([LAST]))).toEqual(["302 /last"]);
  });

  test("gets its response when its click cannot be written", async () => {
    const failing = start(
      {},
      {
        commit() {
          throw new Error("The disk is broken.");
        },
      },
    );
    const text = await exchange([get("/1") + LAST], { at: Number(failing.url.port) });
    expect(parseResponses(text)).toEqual(["302 /1", "302 /last"]);
    expect(Object.keys(errorsOf(failing))).toEqual(["commit"]);
    await failing.stop();
  });

  test("with thousands of requests in one piece gets all responses, and others get theirs in between", async () => {
    handled = [];
    const count = 60_000;
    const flood = exchange([get("/f").repeat(count) + LAST]);
    const other = await open();
    await eventually(async () => expect(handled).toContain("/f"));
    other.write(get("/other", "Connection: close\r\n"));
    other.resume();
    expect(parseResponses(await flood)).toHaveLength(count + 1);
    expect(handled.indexOf("/other")).toBeGreaterThan(-1);
    expect(handled.indexOf("/other")).toBeLessThan(count - 1_000);
  });

  test("with thousands of requests behind one that waits for its response gets all responses", async () => {
    const count = 10_000;
    const others = get("/f").repeat(count);
    const expected = ["302 /slow", ...Array<string>(2 * count).fill("302 /f"), "302 /last"];
    for (const pieces of [
      [get("/slow") + others, others + LAST],
      [get("/slow"), others, others, LAST],
    ])
      expect(parseResponses(await exchange(pieces))).toEqual(expected);
  });

  test("that pipelines more than there is room for is closed after the responses of its turn, and others are not", async () => {
    const small = start({}, {}, { pipelinedBytesMax: 40_000 });
    const at = Number(small.url.port);
    const text = await exchange([get("/p").repeat(20_000)], { at }).catch(() => "");
    expect(text.split("\r\n\r\n").length).toBeLessThan(20_000);
    expect(parseResponses(await exchange([get("/1").repeat(500) + LAST], { at }))).toHaveLength(
      501,
    );
    await eventually(async () => expect(small.connections.open).toBe(0));
    await small.stop();
  });

  test("that does not read its responses is not read further, and gets all of them in the end", async () => {
    const socket = await open();
    socket.pause();
    const count = 200;
    socket.write(get("/large-paused").repeat(count) + LAST);
    // The server reads no further meanwhile.
    await Bun.sleep(200);
    expect(countPausedRequests()).toBeLessThan(count);
    let bytes = 0;
    socket.on("data", (data: Buffer) => void (bytes += data.length));
    socket.resume();
    await new Promise((resolve) => socket.on("close", resolve));
    expect(countPausedRequests()).toBe(count);
    expect(bytes).toBeGreaterThan(count * LARGE.length);
  });

  test("that is reset affects no other", async () => {
    for (let i = 0; i < 200; i++) {
      const socket = await open();
      socket.on("error", () => undefined);
      socket.write(i % 2 === 0 ? get("/slow-reset") : get("/large").repeat(20));
      socket.resetAndDestroy();
    }
    expect(parseResponses(await exchange([LAST]))).toEqual(["302 /last"]);
    await eventually(async () => expect(server.connections.open).toBe(0));
  });

  describe("beyond the limit", () => {
    let small: Server;
    let at: number;
    let respond: () => void;
    let sockets: Socket[];
    beforeEach(() => {
      const pending = new Promise<void>((resolve) => (respond = resolve));
      small = start(
        { CONNECTIONS_MAX: 10 },
        {
          handle(incoming) {
            const response = handle(incoming);
            return response instanceof Promise ? pending.then(() => response) : response;
          },
        },
      );
      at = Number(small.url.port);
      sockets = [];
    });
    afterEach(async () => {
      respond();
      for (const socket of sockets) socket.destroy();
      await small.stop();
    });

    /** Opens a connection that sends `text`; `state` says what has become of it. */
    async function openWith(text: string): Promise<{ received: string; closed: boolean }> {
      const state = { received: "", closed: false };
      const socket = await open(at);
      sockets.push(socket);
      socket.on("error", () => undefined);
      socket.on("data", (data: Buffer) => void (state.received += data.toString("latin1")));
      socket.on("close", () => void (state.closed = true));
      socket.write(text);
      return state;
    }
    const fill = async (text: string, count: number) => {
      const states = [];
      for (let i = 0; i < count; i++) states.push(await openWith(text));
      return states;
    };
    const expectOpen = (count: number) =>
      eventually(async () => expect(small.connections.open).toBe(count));

    test("takes the place of the oldest that is idle, and of none that awaits its response", async () => {
      const [waiting] = await fill(get("/slow"), 1);
      const idle = await fill("G", 9);
      await expectOpen(10);
      expect(parseResponses(await exchange([LAST], { at }))).toEqual(["302 /last"]);
      await eventually(async () => expect(idle.map(({ closed }) => closed)).toContain(true));
      expect(idle.map(({ closed }) => closed)).toEqual([true, ...Array<boolean>(8).fill(false)]);
      expect(small.connections).toMatchObject({ evicted: 1, rejected: { total: 0 } });
      respond();
      await eventually(async () =>
        expect(parseResponses(waiting?.received ?? "")).toEqual(["302 /slow"]),
      );
    });

    test("takes the place of one in use only if none is without requests", async () => {
      const used = await fill(get("/1"), 5);
      await eventually(async () =>
        expect(used.every(({ received }) => received.includes("302"))).toBe(true),
      );
      const unused = await fill("G", 5);
      await expectOpen(10);
      await fill(get("/slow"), 5);
      await eventually(async () => expect(unused.every(({ closed }) => closed)).toBe(true));
      expect(used.some(({ closed }) => closed)).toBe(false);
      await fill(get("/slow"), 5);
      await eventually(async () => expect(used.every(({ closed }) => closed)).toBe(true));
    });

    test("is closed at once when all others await their responses", async () => {
      await fill(get("/slow"), 10);
      await expectOpen(10);
      await eventually(async () => expect(await exchange([LAST], { at })).toBe(""));
      expect(small.connections.evicted).toBe(0);
      expect(small.connections.rejected.total).toBeGreaterThan(0);
    });
  });

  test("is not reset by the response that ends it while its client goes on sending", async () => {
    // Far more than fits into the buffers of both kernels.
    const rest = Buffer.alloc(32 * 1024 * 1024, "x");
    const tooLong = `POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: ${rest.length}\r\n\r\n`;
    for (const start of [tooLong, "GET / HTTP/9.9\r\n\r\n", LAST]) {
      const socket = await open();
      let received = "";
      let error: Error | undefined;
      socket.on("data", (data: Buffer) => void (received += data.toString("latin1")));
      socket.on("error", (cause) => void (error = cause));
      socket.write(start);
      socket.end(rest);
      await new Promise((resolve) => socket.on("close", resolve));
      expect(error).toBeUndefined();
      expect(parseResponses(received)).toHaveLength(1);
    }
  });

  test("whose next request waits for its turn is not closed as one that is slow to send it", () => {
    const connection = new Connection("203.0.113.1", false, 0);
    Object.assign(connection, { input: Buffer.from("GET"), hadTurn: true });
    expect(isTimedOut(connection, 6)).toBe(false);
    connection.hadTurn = false;
    expect(isTimedOut(connection, 6)).toBe(true);
  });

  test("that was idle before is not closed while it waits for its response", async () => {
    const quick = start({}, { handle: respondLater }, { secondMs: 10 });
    const socket = await open(Number(quick.url.port));
    let received = "";
    socket.on("data", (data: Buffer) => void (received += data.toString("latin1")));
    const closed = new Promise((resolve) => socket.on("close", resolve));
    // Most of the time that a connection may be idle.
    await Bun.sleep(400);
    socket.write(get("/later", "Connection: close\r\n"));
    await closed;
    expect(parseResponses(received)).toEqual(["302 /later"]);
    await quick.stop();
  });

  describe("on a server whose seconds are short", () => {
    let quick: Server;
    let at: number;
    beforeAll(() => {
      quick = start({}, {}, { secondMs: 50 });
      at = Number(quick.url.port);
    });
    afterAll(() => quick.stop());

    test("that its client never ends is closed some seconds after its last response", async () => {
      const socket = await open(at);
      socket.allowHalfOpen = true;
      let ended = false;
      socket.on("error", () => undefined);
      socket.on("end", () => void (ended = true));
      socket.resume();
      socket.write("GET / HTTP/1.1\r\n\r\n");
      await eventually(async () => expect(ended).toBe(true), 1_000);
      await eventually(async () => expect(quick.connections.open).toBe(0));
      socket.destroy();
    });

    test("that is slow to send its request is closed, and not before some seconds", async () => {
      const before = Date.now();
      expect(await exchange([get("/never").slice(0, 20)], { at })).toBe("");
      expect(Date.now() - before).toBeGreaterThan(4 * 50);
    });
  });
});

/** A form that is sent only after a response with status 100. */
const postLater = (length: number): string =>
  `POST /p HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: ${length}\r\n\r\n`;

test("a form in more chunks than any client makes is rejected before it has arrived", async () => {
  const start = "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  const some = `${start}${"1\r\nx\r\n".repeat(100)}0\r\n\r\n${LAST}`;
  expect(parseResponses(await exchange([some]))).toEqual([
    `302 /c ${"78".repeat(100)}`,
    "302 /last",
  ]);
  expect(parseResponses(await exchange([start + "1\r\nx\r\n".repeat(500)]))).toEqual(["413"]);
});

describe("a request that expects 100", () => {
  test("is asked for its body once, after the responses of earlier requests", async () => {
    const socket = await open();
    let received = "";
    socket.on("data", (data: Buffer) => void (received += data.toString("latin1")));
    socket.write(get("/slow") + postLater(6));
    await eventually(
      async () => expect(parseResponses(received)).toEqual(["302 /slow", "100"]),
      1_000,
    );
    socket.write("abc");
    socket.write("def" + LAST);
    await new Promise((resolve) => socket.on("close", resolve));
    expect(parseResponses(received)).toEqual(["302 /slow", "100", "302 /p abcdef", "302 /last"]);
  });

  test("is not asked for a body that it sends at once, or that is too long", async () => {
    expect(parseResponses(await exchange([`${postLater(3)}abc${LAST}`]))).toEqual([
      "302 /p abc",
      "302 /last",
    ]);
    expect(parseResponses(await exchange([postLater(1_001)]))).toEqual(["413"]);
  });
});

test("any sequence of requests gets the same responses, in whatever pieces it arrives", async () => {
  const request = fc.oneof(
    fc.nat({ max: 999 }).map((n) => ({ text: get(`/n${n}`), response: `302 /n${n}` })),
    fc.nat({ max: 999 }).map((n) => ({ text: get(`/slow${n}`), response: `302 /slow${n}` })),
    fc.constant({ text: get("/page"), response: "404" }),
    fc
      .string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 300 })
      .map((body) => ({
        text: `POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        response: `302 /p ${body}`,
      })),
    fc
      .array(
        fc.string({ unit: fc.constantFrom("a", "b", "\r", "\n"), minLength: 1, maxLength: 40 }),
        {
          minLength: 1,
          maxLength: 5,
        },
      )
      .map((chunks) => ({
        text: `POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${chunks
          .map((chunk) => `${chunk.length.toString(16)};x="y"\r\n${chunk}\r\n`)
          .join("")}0\r\nX-Trailer: z\r\n\r\n`,
        response: `302 /c ${Buffer.from(chunks.join("")).toString("hex")}`,
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
        expect(parseResponses(await exchange(pieces))).toEqual([
          ...requests.map((r) => r.response),
          "302 /last",
        ]);
      },
    ),
    { numRuns: casesOf(300) },
  );
});

describe("a server behind a proxy that speaks the PROXY protocol", () => {
  const header = "PROXY TCP4 203.0.113.9 10.0.0.1 5000 80\r\n";
  const last = get("/", "Connection: close\r\n");
  let proxied: Server;
  let at: number;
  beforeAll(() => {
    proxied = start({ PROXY_PROTOCOL: true }, { handle: ({ peer }) => redirectTo(`/${peer}`) });
    at = Number(proxied.url.port);
  });
  afterAll(() => proxied.stop());

  test("takes the client's address of all requests from the PROXY header", async () => {
    const responses = await exchange([header + get("/") + last], { at });
    expect(responses.match(/(?<=Location: )[^\r]*/g)).toEqual(["/203.0.113.9", "/203.0.113.9"]);
  });

  test("closes connections without it", async () => {
    expect(await exchange([last], { at })).toBe("");
  });
});

describe("a server with a certificate", () => {
  const fixtures = join(import.meta.dir, "fixtures");
  const tls = {
    cert: join(fixtures, "localhost-cert.pem"),
    key: join(fixtures, "localhost-key.pem"),
  };

  test("responds only over TLS", async () => {
    const secure = start({ TLS_CERT_FILE: tls.cert, TLS_KEY_FILE: tls.key });
    const url = `https://localhost:${secure.url.port}/abc`;
    const ca = Bun.file(tls.cert);
    for (let i = 0; i < 3; i++) {
      const { status, headers } = await fetch(url, { redirect: "manual", tls: { ca } });
      expect([status, headers.get("location")]).toEqual([302, "/abc"]);
    }
    const large = await fetch(`https://localhost:${secure.url.port}/large`, { tls: { ca } });
    expect(await large.text()).toBe(LARGE.toString());
    const plain = get("/", "Connection: close\r\n");
    expect(await exchange([plain], { at: Number(secure.url.port) })).not.toContain("302");
    await secure.stop();
  });

  test("takes no cipher suite of TLS 1.2 without authenticated encryption", async () => {
    const secure = start({ TLS_CERT_FILE: tls.cert, TLS_KEY_FILE: tls.key });
    const accepts = async (ciphers: string): Promise<boolean> => {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const socket = connectTls({
        port: Number(secure.url.port),
        host: "127.0.0.1",
        maxVersion: "TLSv1.2",
        ciphers,
        rejectUnauthorized: false,
      });
      socket.on("secureConnect", () => resolve(true)).on("error", () => resolve(false));
      const accepted = await promise;
      socket.destroy();
      return accepted;
    };
    expect(await accepts("ECDHE-ECDSA-AES128-GCM-SHA256")).toBe(true);
    expect(await accepts("ECDHE-ECDSA-CHACHA20-POLY1305")).toBe(true);
    expect(await accepts("ECDHE-ECDSA-AES128-SHA")).toBe(false);
    expect(await accepts("ECDHE-ECDSA-AES256-SHA")).toBe(false);
    await secure.stop();
  });
});
