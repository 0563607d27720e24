/** One attempt to deliver an event, and what follows from its response. */
import { encodeId } from "../../shared/ids.ts";
import { withTimeout } from "../../shared/timeout.ts";
import { deriveKey } from "../../shared/webhooks/secret.ts";
import type { ReceiverRules } from "../../shared/webhooks/variables.ts";
import { AddressBusy, type Connections } from "./connections.ts";
import { type StoredEvent, writeBody } from "./events.ts";
import type { LeasedWebhook } from "./leases.ts";
import { post } from "./post.ts";
import type { Pending } from "./queue.ts";
import { findReceiver, type Resolve } from "./receiver.ts";
import type { ReceiverResponse } from "./response-reader.ts";
import type { Outcome } from "./results.ts";
import { parseRetryAfter, retryDelayMs } from "./schedule.ts";
import { signatureHeaders } from "./signature.ts";

/** Longest time of an attempt, from resolving the name to the end of the headers. */
export const ATTEMPT_TIMEOUT_MS = 10_000;

/** Most characters of an error. */
const ERROR_LENGTH_MAX = 255;

/** The receiver no longer exists (RFC 9110 §15.5.11). */
const GONE = 410;

export type AttemptDeps = {
  /** What the secrets of webhooks are derived from. */
  ownSecret: string;
  rules: ReceiverRules;
  resolve: Resolve;
};

type Attempt = {
  webhook: LeasedWebhook;
  delivery: Pending;
  /** Undefined when it is no longer kept. */
  event: StoredEvent | undefined;
  connections: Connections;
  /** Whether the webhook is known to work. */
  isProven: boolean;
  /** Ends the attempt early. */
  signal: AbortSignal;
};

/** What came of an attempt, and whether the receiver is gone for good. */
export type AttemptResult = { outcome: Outcome; isGone: boolean };

const NO_RESPONSE = { latencyMs: 0, responseStatus: null, responseBody: null };

/**
 * Delivers an event once; never throws. Undefined when no attempt was made, because the receiver's
 * address has too many connections.
 */
export async function attempt(
  deps: AttemptDeps,
  work: Attempt,
): Promise<AttemptResult | undefined> {
  const { delivery, event } = work;
  if (event === undefined) {
    const error = "The event is no longer kept.";
    return { outcome: { ...NO_RESPONSE, status: "failed", delayMs: null, error }, isGone: false };
  }
  const startedAt = performance.now();
  try {
    const response = await send(deps, { ...work, event });
    const latencyMs = Math.round(performance.now() - startedAt);
    return { outcome: judge(delivery, response, latencyMs), isGone: response.status === GONE };
  } catch (error) {
    if (error instanceof AddressBusy) return undefined;
    const latencyMs = Math.round(performance.now() - startedAt);
    const failure = { ...NO_RESPONSE, latencyMs, error: describe(error) };
    return { outcome: { ...failure, ...next(delivery, undefined) }, isGone: false };
  }
}

async function send(
  { ownSecret, rules, resolve }: AttemptDeps,
  { webhook, delivery, event, connections, isProven, signal }: Attempt & { event: StoredEvent },
): Promise<ReceiverResponse> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), ATTEMPT_TIMEOUT_MS);
  const stop = (): void => controller.abort();
  signal.addEventListener("abort", stop);
  try {
    const receiver = await withTimeout(
      findReceiver(new URL(webhook.url), rules, resolve),
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
    return await connections.run(receiver.address, isProven, () =>
      post({ receiver, headers, body, signal: controller.signal }),
    );
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}

function judge(
  delivery: Pending,
  { status, retryAfter, excerpt }: ReceiverResponse,
  latencyMs: number,
): Outcome {
  const response = { latencyMs, responseStatus: status, responseBody: excerpt, error: null };
  if (status >= 200 && status < 300) return { ...response, status: "delivered", delayMs: null };
  return { ...response, ...next(delivery, retryAfter) };
}

/** What follows after a failed attempt. */
function next(
  { attempts }: Pending,
  retryAfter: string | undefined,
): Pick<Outcome, "status" | "delayMs"> {
  const retryAfterMs = parseRetryAfter(retryAfter, Date.now());
  const delayMs = retryDelayMs(attempts + 1, retryAfterMs, Math.random());
  if (delayMs === undefined) return { status: "failed", delayMs: null };
  return { status: "pending", delayMs };
}

function describe(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.slice(0, ERROR_LENGTH_MAX).toWellFormed().replaceAll("\0", "");
}
