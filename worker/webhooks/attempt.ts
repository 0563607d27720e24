/** One attempt to deliver an event, and what follows from its response. */
import { createHmac } from "node:crypto";

import type { DeliveryErrorCode } from "../../shared/contracts/webhook-schemas.ts";
import { HOUR_MS, MINUTE_MS } from "../../shared/durations.ts";
import { encodeId } from "../../shared/ids.ts";
import { TimeoutError, withTimeout } from "../../shared/timeout.ts";
import { deriveKey, type ReceiverRules } from "../../shared/webhooks.ts";
import { type StoredEvent, writeBody } from "./events.ts";
import type { LeasedWebhook, Pending } from "./leases.ts";
import {
  AddressBusy,
  Connections,
  DeliveryError,
  findReceivers,
  post,
  type ReceiverResponse,
  type Resolve,
} from "./post.ts";
import type { Outcome } from "./results.ts";

/** Longest time of an attempt, from resolving the name to the end of the headers. */
export const ATTEMPT_TIMEOUT_MS = 10_000;

/** Maximum characters of an error. */
const ERROR_LENGTH_MAX = 255;

/** The receiver no longer exists (RFC 9110 §15.5.11). */
const GONE = 410;

/** How receivers are reached: which are allowed, how names resolve, and within which bounds. */
export class Transport {
  /** The secret from which the secrets of webhooks are derived. */
  readonly ownSecret: string;
  readonly rules: ReceiverRules;
  readonly resolve: Resolve;
  readonly connections = new Connections();

  constructor(ownSecret: string, rules: ReceiverRules, resolve: Resolve) {
    this.ownSecret = ownSecret;
    this.rules = rules;
    this.resolve = resolve;
  }
}

type Attempt = {
  webhook: LeasedWebhook;
  delivery: Pending;
  /** Undefined when it is no longer kept. */
  event: StoredEvent | undefined;
  /** Whether the webhook is known to work. */
  isProven: boolean;
  /** Ends the attempt early. */
  signal: AbortSignal;
};

/** The outcome of an attempt, and whether the receiver is gone for good. */
export type AttemptResult = { outcome: Outcome; isGone: boolean };

const NO_RESPONSE = { latencyMs: 0, responseStatus: null, responseBody: null };

/**
 * Attempts to deliver an event once; never throws. Undefined when no attempt was made, because the
 * receiver's address has too many connections.
 */
export async function attempt(
  transport: Transport,
  work: Attempt,
): Promise<AttemptResult | undefined> {
  const { delivery, event } = work;
  if (event === undefined) {
    const failure = describe(new DeliveryError("event_deleted"));
    return {
      outcome: { ...NO_RESPONSE, ...failure, status: "failed", delayMs: null },
      isGone: false,
    };
  }
  const startedAt = performance.now();
  try {
    const response = await send(transport, { ...work, event });
    const latencyMs = Math.round(performance.now() - startedAt);
    return { outcome: judge(delivery, response, latencyMs), isGone: response.status === GONE };
  } catch (error) {
    if (error instanceof AddressBusy) return undefined;
    const latencyMs = Math.round(performance.now() - startedAt);
    const failure = { ...NO_RESPONSE, latencyMs, ...describe(error) };
    return { outcome: { ...failure, ...scheduleRetry(delivery, undefined) }, isGone: false };
  }
}

async function send(
  { ownSecret, rules, resolve, connections }: Transport,
  { webhook, delivery, event, isProven, signal }: Attempt & { event: StoredEvent },
): Promise<ReceiverResponse> {
  const ended = AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_TIMEOUT_MS)]);
  const receivers = await withTimeout(
    findReceivers(new URL(webhook.url), rules, resolve),
    ATTEMPT_TIMEOUT_MS,
  );
  const body = writeBody(event, delivery.linkIds, webhook.format);
  const salts = webhook.old_salt === null ? [webhook.salt] : [webhook.salt, webhook.old_salt];
  const keys = salts.map((salt) => deriveKey(ownSecret, webhook.id, salt));
  const id = encodeId("event", event.id);
  const timestamp = Math.floor(Date.now() / 1_000);
  const headers = {
    "content-type": "application/json",
    "user-agent": "Shorthop-Webhooks/1",
    ...signatureHeaders({ id, timestamp, body }, keys),
  };
  let failure: unknown;
  for (const receiver of receivers) {
    try {
      return await connections.run(receiver.address, isProven, () =>
        post({ receiver, headers, body, signal: ended }),
      );
    } catch (error) {
      failure ??= error;
      if (!UNREACHED.has(codeOf(error))) break;
    }
  }
  throw failure;
}

/** Errors after which another address is tried: no connection was made. */
const UNREACHED: ReadonlySet<DeliveryErrorCode> = new Set([
  "connection_refused",
  "connection_failed",
]);

function judge(
  delivery: Pending,
  { status, retryAfter, excerpt }: ReceiverResponse,
  latencyMs: number,
): Outcome {
  const response = {
    latencyMs,
    responseStatus: status,
    responseBody: excerpt,
    errorCode: null,
    error: null,
  };
  if (status >= 200 && status < 300) return { ...response, status: "delivered", delayMs: null };
  return { ...response, ...scheduleRetry(delivery, retryAfter) };
}

/** The status and the delay after an attempt that failed. */
function scheduleRetry(
  { attempts }: Pending,
  retryAfter: string | undefined,
): { status: "failed" | "pending"; delayMs: number | null } {
  const retryAfterMs = parseRetryAfter(retryAfter, Date.now());
  const delayMs = retryDelayMs(attempts + 1, retryAfterMs, Math.random());
  if (delayMs === undefined) return { status: "failed", delayMs: null };
  return { status: "pending", delayMs };
}

/** Says why there was no response: for programs, and for people. */
function describe(error: unknown): { errorCode: DeliveryErrorCode; error: string } {
  const message = error instanceof Error ? error.message : String(error);
  return {
    errorCode: codeOf(error),
    error: message.slice(0, ERROR_LENGTH_MAX).toWellFormed().replaceAll("\0", ""),
  };
}

/** The code of an error, of our own or of the socket. */
function codeOf(error: unknown): DeliveryErrorCode {
  if (error instanceof DeliveryError) return error.code;
  if (error instanceof TimeoutError) return "timeout";
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "ECONNREFUSED") return "connection_refused";
  if (code === "ECONNRESET" || code === "EPIPE") return "connection_closed";
  if (code === "ETIMEDOUT") return "timeout";
  // Such as CERT_HAS_EXPIRED, and UNABLE_TO_VERIFY_LEAF_SIGNATURE.
  return /CERT|SIGNATURE|ISSUER/.test(code) ? "certificate_invalid" : "connection_failed";
}

const SECOND_MS = 1_000;

/** The delay after each failed attempt; after the last one the delivery has failed for good. */
export const RETRY_DELAYS_MS: readonly number[] = [
  5 * SECOND_MS,
  MINUTE_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  12 * HOUR_MS,
  12 * HOUR_MS,
  24 * HOUR_MS,
];

/** The longest delay, which `Retry-After` cannot exceed either. */
const DELAY_MAX_MS = 24 * HOUR_MS;

/** Delays vary by this part, so that what failed together is not attempted together again. */
const JITTER = 0.2;

/**
 * The milliseconds until the next attempt after `attempts` failed ones; undefined when none is
 * left. A receiver's `Retry-After` can prolong the delay. `random` is from 0 to below 1.
 */
export function retryDelayMs(
  attempts: number,
  retryAfterMs: number | undefined,
  random: number,
): number | undefined {
  const delayMs = RETRY_DELAYS_MS[attempts - 1];
  if (delayMs === undefined) return undefined;
  const jittered = delayMs * (1 + JITTER * random);
  return Math.round(Math.min(DELAY_MAX_MS, Math.max(jittered, retryAfterMs ?? 0)));
}

const SECONDS = /^\d{1,9}$/;

/** Parses `Retry-After`, seconds or a date (RFC 9110 §10.2.3); undefined when it is neither. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  if (SECONDS.test(value)) return Number(value) * SECOND_MS;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

type SignedMessage = {
  /** The event's public id. */
  id: string;
  /** When the attempt is made, in Unix seconds. */
  timestamp: number;
  body: Buffer;
};

/** The headers of Standard Webhooks (https://www.standardwebhooks.com): a signature per key. */
export function signatureHeaders(
  { id, timestamp, body }: SignedMessage,
  keys: readonly Buffer[],
): Record<string, string> {
  const signatures = keys.map((key) => {
    const hmac = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body);
    return `v1,${hmac.digest("base64")}`;
  });
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": signatures.join(" "),
  };
}
