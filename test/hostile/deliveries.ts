/** Generators of hostile delivery: requests in pieces, slow, concurrent, without an end. */
import {
  createAnyRequest,
  createSmallRequest,
  type Delivery,
  type Payload,
  toPayload,
} from "./payload.ts";
import { createValidRequest, type Draft, type HttpRequest, toBytes } from "./requests.ts";
import { BAD_BYTES } from "./texts.ts";

function truncated(draft: Draft): Payload {
  const payload = toPayload(createSmallRequest(draft));
  const bytes = payload.bytes.subarray(0, draft.random.between(0, payload.bytes.length - 1));
  return { ...payload, bytes, complete: false, delivery: { kind: "half closed" } };
}

/** Pipelined requests in one write: one repeated, or all kinds. */
function pipelined(draft: Draft): Payload {
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
function amplified(draft: Draft): Payload {
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

const SPLITS_MAX = 200;

function split(draft: Draft): Payload {
  const { random } = draft;
  const payload = toPayload(createSmallRequest(draft));
  const bytewise = payload.bytes.length < SPLITS_MAX || random.between(0, 1) === 0;
  const lengths = Array.from({ length: SPLITS_MAX }, () =>
    bytewise ? 1 : random.between(1, Math.ceil((3 * payload.bytes.length) / SPLITS_MAX)),
  );
  return { ...payload, delivery: { kind: "split", lengths } };
}

function slow(draft: Draft): Payload {
  const { random } = draft;
  const payload = toPayload(createSmallRequest(draft));
  const delivery: Delivery = {
    kind: "slow",
    length: random.pick([1, 10, 100]),
    everyMs: random.pick([50, 400, 2_000]),
  };
  return { ...payload, complete: false, delivery };
}

const halfClosed = (draft: Draft): Payload => ({
  ...toPayload(createSmallRequest(draft)),
  delivery: { kind: "half closed" },
});

function reset(draft: Draft): Payload {
  const payload = toPayload(createAnyRequest(draft));
  const length = draft.random.pick([
    payload.bytes.length,
    draft.random.between(0, payload.bytes.length),
  ]);
  return {
    ...payload,
    bytes: payload.bytes.subarray(0, length),
    complete: false,
    delivery: { kind: "reset" },
  };
}

/** Requests whose responses the client never reads. */
function unread(draft: Draft): Payload {
  const request = createSmallRequest(draft);
  const count = draft.random.pick([1, 20, 100]);
  return {
    bytes: Buffer.concat(Array(count).fill(toBytes(request))),
    methods: Array(count).fill(request.method),
    complete: false,
    delivery: { kind: "unread" },
  };
}

export const DELIVERIES = {
  truncated,
  pipelined,
  amplified,
  split,
  slow,
  "half closed": halfClosed,
  reset,
  unread,
} as const;
