/**
 * `shorthop status`: a request over NATS, to which each process responds with its identity, health
 * and current values.
 */
import { hostname } from "node:os";

import { ErrorCode, type NatsConnection, NatsError } from "nats";
import * as z from "zod";

import { type HealthSource, readHealth } from "./internal-server.ts";
import type { Log } from "./log.ts";
import type { Replies } from "./nats.ts";
import { withTimeout } from "./timeout.ts";
import { version } from "./version.ts";

/**
 * Reading health and values may query a store; the response must be sent before the client's
 * timeout.
 */
const READ_TIMEOUT_MS = 1_000;

/** The parts of the response of a process. */
type StatusSource = {
  process: ProcessStatus["process"];
  instance?: number | undefined;
  health: HealthSource;
  /** Undefined values are left out. */
  figures: () => { [Name in keyof Figures]: Figures[Name] | undefined } | Promise<Figures>;
};

/**
 * Responds until the connection is closed. Without the permission, it logs an error and the process
 * runs on.
 */
export function answerStatus(
  nats: Promise<NatsConnection>,
  replies: Replies,
  source: StatusSource,
  log: Log,
): void {
  respond(nats, replies, source).catch((error: unknown) =>
    log.warn({ error }, "status_not_answered"),
  );
}

async function respond(
  nats: Promise<NatsConnection>,
  replies: Replies,
  source: StatusSource,
): Promise<void> {
  const startedAt = new Date(Date.now() - process.uptime() * 1_000).toISOString();
  for await (const request of (await nats).subscribe(STATUS_SUBJECT)) {
    const reply = replies.to(request, STATUS_REPLIES);
    if (reply !== undefined) reply(JSON.stringify(await readStatus(source, startedAt)));
  }
}

async function readStatus(source: StatusSource, startedAt: string) {
  const [{ status, parts, warnings }, figures] = await Promise.all([
    withTimeout(readHealth(source.health), READ_TIMEOUT_MS).catch(toUnready),
    withTimeout(Promise.resolve(source.figures()), READ_TIMEOUT_MS).catch(() => ({})),
  ]);
  return {
    process: source.process,
    instance: source.instance ?? null,
    host: hostname(),
    pid: process.pid,
    version,
    started_at: startedAt,
    status,
    parts,
    warnings,
    figures,
  };
}

const toUnready = (error: unknown) => ({
  status: "not_ready" as const,
  parts: { readiness: error instanceof Error ? error.message : String(error) },
  warnings: {},
});

/**
 * Every process responds to requests on this subject; deploy/nats/users.conf says who may send
 * them.
 */
export const STATUS_SUBJECT = "shorthop.status";

/** Reply subjects: inboxes of NATS clients, also those with a user's prefix (shared/nats.ts). */
const STATUS_REPLIES = /^_INBOX(?:_[\w-]+)?(?:\.[\w-]+)+$/;

/** Current values of a process; each kind of process has its own. */
const figures = z.object({
  /** Open connections of a redirector. */
  connections: z.number(),
  /** Time since the last message of the links log, and messages that are not applied yet. */
  feed_age_seconds: z.number(),
  feed_lag_messages: z.number(),
  /** Links in the store of a redirector's host; absent while it is not up to date. */
  links: z.number(),
  /** Clicks of a redirector that JetStream has not acknowledged, or only just. */
  journal_bytes: z.number(),
  segments_pending: z.number(),
  /** Changes of links that an API process could not publish yet. */
  outbox_pending: z.number(),
  /** Whether a worker stores clicks; others stand by. */
  owner: z.boolean(),
  owner_epoch: z.number(),
  /** Age of the oldest click that the owner is storing. */
  clicks_lag_seconds: z.number(),
});

export const processStatus = z.object({
  process: z.enum(["api", "redirector", "worker"]),
  /**
   * The number of the process among those of its kind on the host; null when it is the only one.
   */
  instance: z.number().nullable(),
  host: z.string(),
  pid: z.number(),
  version: z.string(),
  started_at: z.string(),
  status: z.enum(["ready", "not_ready"]),
  /** As in `/readyz`. */
  parts: z.record(z.string(), z.string()),
  warnings: z.record(z.string(), z.string()),
  figures: figures.partial(),
});

export type ProcessStatus = z.output<typeof processStatus>;
export type Figures = ProcessStatus["figures"];

/** Maximum responses read: more than any installation has processes. */
const RESPONSES_MAX = 5_000;

/**
 * Collects the responses of processes within `waitMs`, by kind, host and number. Throws when this
 * user may not send the request.
 */
export async function requestStatuses(
  nats: NatsConnection,
  waitMs: number,
): Promise<ProcessStatus[]> {
  const found: ProcessStatus[] = [];
  try {
    const options = { maxWait: waitMs, maxMessages: RESPONSES_MAX };
    for await (const { data } of await nats.requestMany(STATUS_SUBJECT, "", options)) {
      const status = decodeStatus(data);
      if (status !== undefined) found.push(status);
    }
  } catch (error) {
    if (!(error instanceof NatsError)) throw error;
    if (error.isPermissionError())
      throw new Error(
        "This user may not request the status: set NATS_URL as in api.env, or as the operator.",
        {
          cause: error,
        },
      );
    if (error.code !== ErrorCode.NoResponders.toString()) throw error;
  }
  return found.toSorted(compare);
}

/** Undefined for a response that cannot be decoded, such as one of a future version. */
function decodeStatus(data: Uint8Array): ProcessStatus | undefined {
  try {
    return processStatus.safeParse(JSON.parse(new TextDecoder().decode(data))).data;
  } catch {
    return undefined;
  }
}

const compare = (a: ProcessStatus, b: ProcessStatus): number =>
  a.process.localeCompare(b.process) ||
  a.host.localeCompare(b.host) ||
  (a.instance ?? 0) - (b.instance ?? 0) ||
  a.pid - b.pid;
