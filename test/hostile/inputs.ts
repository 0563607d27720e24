/** Generates an input from a route and a seed: bytes, and how to send them. */
import { createRandom, shuffle } from "../harness/random.ts";
import { CONTENTS } from "./contents.ts";
import {
  createValidRequest,
  type Draft,
  type Fixtures,
  type HttpRequest,
  toBytes,
} from "./requests.ts";
import type { Route } from "./routes.ts";
import { BAD_BYTES, words } from "./texts.ts";

/** How the bytes are sent. */
type Delivery =
  | { kind: "whole" }
  /** In pieces of these lengths, each in its own TCP segment. */
  | { kind: "split"; lengths: readonly number[] }
  /** One piece per interval, until the server closes the connection or a timeout ends it. */
  | { kind: "slow"; length: number; everyMs: number }
  /** Closes the sending side, then reads the responses. */
  | { kind: "half closed" }
  /** Resets the connection after sending. */
  | { kind: "reset" }
  /** Does not read the responses for a while. */
  | { kind: "unread" };

type Payload = {
  bytes: Buffer;
  /**
   * Methods of the contained requests, as far as they are valid: a response to HEAD has no body.
   */
  methods: readonly string[];
  delivery: Delivery;
  /** Number of concurrent connections that send it. */
  copies: number;
  /** Whether the server can be sure that the request is complete, and must respond. */
  complete: boolean;
};

export type Input = Payload & { index: number; route: Route; generator: string };

/** What differs from a complete payload that is sent as a whole, once. */
type Made = Partial<Payload> & { bytes: Buffer; methods: readonly string[] };

type NamedGenerator = readonly [name: string, make: (draft: Draft) => Made];

const toPayload = (request: HttpRequest) => ({
  bytes: toBytes(request),
  methods: [request.method],
});

const ofContents = Object.entries(CONTENTS).map(([name, make]): NamedGenerator => [
  name,
  (draft) => toPayload(make(draft)),
]);

const GENERATORS: readonly NamedGenerator[] = [
  ...ofContents,
  ["smuggled", smuggled],
  ["lines", lines],
  ["mutated", mutated],
  ["pipelined", pipelined],
  ["amplified", amplified],
  ["truncated", truncated],
  ["split", split],
  ["slow", slow],
  ["half closed", (draft) => ({ ...toSmall(draft), delivery: { kind: "half closed" } })],
  ["reset", reset],
  ["unread", unread],
];

export const GENERATOR_NAMES: readonly string[] = GENERATORS.map(([name]) => name);

/** Hashes a seed with a number, so that neighbouring numbers give unrelated seeds. */
const mix = (seed: number, index: number): number =>
  Math.imul(seed ^ Math.imul(index + 1, 0x9e3779b1), 0x85ebca6b) >>> 0;

/** Marks a request with its input's index, which response headers may echo. */
export const createMark = (index: number): string => `hl-${index}-`;

/**
 * The inputs of a seed: each depends only on its index, so that any of them can be replayed. In
 * each round every route meets every generator once, and all routes are attacked from the start.
 */
export class Inputs {
  readonly #seed: number;
  readonly #routes: readonly Route[];
  readonly #fixtures: Fixtures;
  readonly #perRound: number;
  readonly #rounds = new Map<number, [Route, NamedGenerator][]>();

  constructor(seed: number, routes: readonly Route[], fixtures: Fixtures) {
    this.#seed = seed;
    this.#routes = routes;
    this.#fixtures = fixtures;
    this.#perRound = routes.length * GENERATORS.length;
  }

  make(index: number): Input {
    const pair = this.#orderOf(Math.floor(index / this.#perRound))[index % this.#perRound];
    if (pair === undefined) throw new Error("There are no routes.");
    const [route, [generator, make]] = pair;
    const random = createRandom(mix(this.#seed, index));
    const draft = { random, route, fixtures: this.#fixtures, mark: createMark(index) };
    return {
      index,
      route,
      generator,
      copies: 1,
      complete: true,
      delivery: { kind: "whole" },
      ...make(draft),
    };
  }

  #orderOf(round: number): [Route, NamedGenerator][] {
    const known = this.#rounds.get(round);
    if (known !== undefined) return known;
    const random = createRandom(mix(this.#seed, -1 - round));
    const generators = this.#routes.map((route) => ({
      route,
      order: shuffle(random, GENERATORS),
    }));
    // Each turn visits every route once, in a different order.
    const order = GENERATORS.flatMap((_, turn) =>
      shuffle(random, generators).flatMap(({ route, order: own }): [Route, NamedGenerator][] => {
        const generator = own[turn];
        return generator === undefined ? [] : [[route, generator]];
      }),
    );
    if (this.#rounds.size > 1) this.#rounds.clear();
    this.#rounds.set(round, order);
    return order;
  }
}

const chunked = (rest: string): [string[], string] => [["Transfer-Encoding: chunked"], rest];
const framed = (line: string, rest = "abc"): [string[], string] => [[line], rest];

/** Request smuggling: framing that two parsers of one stream could interpret differently. */
function smuggled(draft: Draft): Made {
  const { random } = draft;
  const request = createValidRequest(draft);
  const body = request.body ?? Buffer.from("x=1");
  const chunk = `${body.length.toString(16)}\r\n${body.toString("latin1")}\r\n`;
  const hidden = "GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const framings: readonly [[string[], string], ...[string[], string][]] = [
    [["Content-Length: 3", "Transfer-Encoding: chunked"], `0\r\n\r\n${hidden}`],
    [["Transfer-Encoding: chunked", "Content-Length: 999"], `${chunk}0\r\n\r\n`],
    [["Transfer-Encoding: chunked", "Transfer-Encoding: identity"], `${chunk}0\r\n\r\n`],
    [["Content-Length: 3", "Content-Length: 4"], "abcd"],
    chunked(`${chunk}0\r\n\r\n`),
    chunked(`${chunk}0\r\n${"X-Trailer: 1\r\n".repeat(random.pick([1, 100, 3_000]))}\r\n`),
    chunked(
      `${body.length.toString(16)};${"a=b;".repeat(random.pick([1, 500, 20_000]))}\r\n${body.toString("latin1")}\r\n0\r\n\r\n`,
    ),
    chunked("ffffffffffffffff\r\nx"),
    chunked("-1\r\n\r\n"),
    chunked(`${"0".repeat(10_000)}1\r\nx\r\n0\r\n\r\n`),
    chunked("1\r\nx\r\n".repeat(random.pick([1_000, 20_000])).concat("0\r\n\r\n")),
    chunked("3\nabc\n0\n\n"),
    chunked("0x3\r\nabc\r\n0\r\n\r\n"),
    framed("Transfer-Encoding:\x0bchunked", chunk),
    framed("Transfer-Encoding: xchunked", chunk),
    framed("Transfer-Encoding: chunked, identity", chunk),
    framed("Transfer-Encoding: gzip, chunked", `${chunk}0\r\n\r\n`),
    framed("transfer-encoding : chunked", `${chunk}0\r\n\r\n`),
    ...["3, 3", "+3", "0x3", "3 ", "99999999999999999999", "18446744073709551619", "1e1"].map(
      (length) => framed(`Content-Length: ${length}`),
    ),
    framed("Content-Length: -1", ""),
    framed("Content-Length:", ""),
    framed("Content-Length: 0", hidden),
    framed(" Content-Length: 3"),
    framed("X: a\r\n Content-Length: 3"),
    [["Upgrade: h2c", "Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: AAMAAABk"], ""],
    framed(
      "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13",
      "",
    ),
  ];
  const [lines, rest] = random.pick(framings);
  const head = toBytes({ ...request, body: undefined }).toString("latin1");
  const bytes = Buffer.from(`${head.slice(0, -2)}${lines.join("\r\n")}\r\n\r\n${rest}`, "latin1");
  return { bytes, methods: [request.method], complete: false };
}

/** Malformed request lines, and those of other protocols. */
function lines(draft: Draft): Made {
  const { random } = draft;
  const request = createValidRequest(draft);
  const text = toBytes(request).toString("latin1");
  const { path, method } = request;
  const rest = text.slice(text.indexOf("\r\n"));
  const version = random.pick(words("0.9 1.0 1.2 2.0 3 99999999999999999999.1"));
  const line = random.pick([
    `${method} ${path}`,
    `${method} ${path} HTTP/${version}`,
    `${method} ${path} http/1.1`,
    `${method}  ${path}  HTTP/1.1`,
    `${method}\t${path}\tHTTP/1.1`,
    ` ${method} ${path} HTTP/1.1`,
    `${"\r\n".repeat(random.pick([2, 5_000]))}${method} ${path} HTTP/1.1`,
    `${method.toLowerCase()} ${path} HTTP/1.1`,
    `${"A".repeat(random.pick([30, 20_000]))} ${path} HTTP/1.1`,
    `${random.pick(words("TRACE CONNECT OPTIONS PUT PROPFIND QUERY HEAD __proto__"))} ${path} HTTP/1.1`,
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
function mutated(draft: Draft): Made {
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
  // A byte of the method may have gone: a response to HED has a body.
  const [method = ""] = bytes.toString("latin1").split(" ", 1);
  return { bytes, methods: [method], complete: false };
}

/** Pipelined requests in one write: one repeated, or all kinds. */
function pipelined(draft: Draft): Made {
  const { random, route } = draft;
  const count = random.pick([2, 4, 4, 8, 32, 200]);
  const repeated = random.between(0, 1) === 0 ? createSmallRequest(draft) : undefined;
  const requests: HttpRequest[] = [];
  // A miss has to wait for a lookup, so the following requests arrive in the meantime.
  if (route.surface === "redirector" && random.between(0, 1) === 0) requests.push(missing(draft));
  let bytes = 0;
  while (requests.length < count && bytes < PIPELINED_BYTES_MAX) {
    const request =
      repeated ?? createSmallRequest({ ...draft, mark: `${draft.mark}${requests.length}-e` });
    bytes += toBytes(request).length;
    requests.push(request);
  }
  return {
    bytes: Buffer.concat(requests.map(toBytes)),
    methods: requests.map(({ method }) => method),
    // A rejected request may close the connection, and the requests after it are discarded.
    complete: false,
    // With concurrent copies, because write buffers share a common limit.
    copies: random.pick([1, 1, 4, 8]),
  };
}

/** Bytes of a query that fit into a head of 16 KiB. */
const FITTING_QUERY_BYTES = 15_000;

/**
 * The longest accepted query, repeated on several connections at once: if a response grows with its
 * request, the total size of all responses is at its maximum.
 */
function amplified(draft: Draft): Made {
  const { random, route } = draft;
  const request = createValidRequest(draft);
  const unit = random.pick([
    () => random.pick(BAD_BYTES).toString("latin1").replaceAll("\0", "\xff"),
    () => random.pick(["%ff", "\xc3\xa9", '"', "<", "%", "a"]),
  ])();
  const value = unit.repeat(Math.floor(FITTING_QUERY_BYTES / unit.length));
  request.query = [
    random.pick<[string, string]>([
      ["q", value],
      [value, ""],
    ]),
  ];
  const one = toBytes(request);
  const count = Math.max(1, Math.floor(PIPELINED_BYTES_MAX / one.length));
  const requests = Array<Buffer>(count).fill(one);
  const methods = Array<string>(count).fill(request.method);
  // Behind a miss, which waits for a lookup, the others are served at the same moment.
  if (route.surface === "redirector") {
    requests.unshift(toBytes({ ...missing(draft), query: [] }));
    methods.unshift("GET");
  }
  return {
    bytes: Buffer.concat(requests),
    methods,
    complete: false,
    copies: random.pick([4, 8]),
  };
}

const missing = (draft: Draft): HttpRequest => ({
  ...createValidRequest(draft),
  method: "GET",
  path: `/none-${draft.random.between(0, 1e9)}`,
  body: undefined,
  query: [],
});

/** Bytes of requests that a redirector buffers per connection. */
const PIPELINED_BYTES_MAX = 62_000;

/** Creates a request with hostile content of any kind, or a valid one. */
function createAnyRequest(draft: Draft): HttpRequest {
  const { long, odd, misencoded, nested, wide } = CONTENTS;
  return draft.random.pick([createValidRequest, long, odd, misencoded, nested, wide])(draft);
}

/** Limits requests that are split, sent slowly or repeated: they need not be long as well. */
const REPEATED_BYTES_MAX = 20_000;

function createSmallRequest(draft: Draft): HttpRequest {
  const request = createAnyRequest(draft);
  return toBytes(request).length <= REPEATED_BYTES_MAX ? request : createValidRequest(draft);
}

const toSmall = (draft: Draft) => toPayload(createSmallRequest(draft));

/** A beginning of a request: that of deliveries in pieces, slow, concurrent or without an end. */
function truncated(draft: Draft): Made {
  const { bytes, methods } = toSmall(draft);
  const length = draft.random.between(0, bytes.length - 1);
  return {
    bytes: bytes.subarray(0, length),
    methods,
    complete: false,
    delivery: { kind: "half closed" },
  };
}

const SPLITS_MAX = 200;

function split(draft: Draft): Made {
  const { random } = draft;
  const small = toSmall(draft);
  const { length } = small.bytes;
  const bytewise = length < SPLITS_MAX || random.between(0, 1) === 0;
  const lengths = Array.from({ length: SPLITS_MAX }, () =>
    bytewise ? 1 : random.between(1, Math.ceil((3 * length) / SPLITS_MAX)),
  );
  return { ...small, delivery: { kind: "split", lengths } };
}

function slow(draft: Draft): Made {
  const { random } = draft;
  const length = random.pick([1, 10, 100]);
  const everyMs = random.pick([50, 400, 2_000]);
  return { ...toSmall(draft), complete: false, delivery: { kind: "slow", length, everyMs } };
}

function reset(draft: Draft): Made {
  const { random } = draft;
  const { bytes, methods } = toPayload(createAnyRequest(draft));
  const length = random.pick([bytes.length, random.between(0, bytes.length)]);
  return {
    bytes: bytes.subarray(0, length),
    methods,
    complete: false,
    delivery: { kind: "reset" },
  };
}

/** Requests whose responses the client never reads. */
function unread(draft: Draft): Made {
  const request = createSmallRequest(draft);
  const count = draft.random.pick([1, 20, 100]);
  return {
    bytes: Buffer.concat(Array(count).fill(toBytes(request))),
    methods: Array(count).fill(request.method),
    complete: false,
    delivery: { kind: "unread" },
  };
}
