/** Types of generated payloads: bytes, and how to send them. */
import { CONTENTS } from "./contents.ts";
import { createValidRequest, type Draft, type HttpRequest, toBytes } from "./requests.ts";

/** How the bytes are sent. */
export type Delivery =
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

export type Payload = {
  bytes: Buffer;
  /**
   * Methods of the contained requests, as far as they are valid: a response to HEAD has no body.
   */
  methods: readonly string[];
  /** Default: whole. */
  delivery?: Delivery;
  /** Number of concurrent connections that send it. Default: 1. */
  copies?: number;
  /**
   * Whether the server can be sure that the request is complete, and must respond. Default: true.
   */
  complete?: boolean;
};

export type Generator = (draft: Draft) => Payload;

export const toPayload = (request: HttpRequest): Payload => ({
  bytes: toBytes(request),
  methods: [request.method],
});

/** Creates a request with hostile content of any kind, or a valid one. */
export function createAnyRequest(draft: Draft): HttpRequest {
  const { random } = draft;
  const create = random.pick([
    createValidRequest,
    CONTENTS.long,
    CONTENTS.odd,
    CONTENTS.misencoded,
    CONTENTS.nested,
    CONTENTS.wide,
  ]);
  return create(draft);
}

/** Limits requests that are split, sent slowly or repeated: they need not be long as well. */
const REPEATED_BYTES_MAX = 20_000;

export function createSmallRequest(draft: Draft): HttpRequest {
  const request = createAnyRequest(draft);
  return toBytes(request).length <= REPEATED_BYTES_MAX ? request : createValidRequest(draft);
}
