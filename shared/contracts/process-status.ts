/**
 * The status of a process for `shorthop status`: its response to a request on {@link
 * STATUS_SUBJECT}.
 */
import * as z from "zod";

/**
 * Every process responds to requests on this subject; deploy/nats/users.conf says who may send
 * them.
 */
export const STATUS_SUBJECT = "shorthop.status";

/** Reply subjects: inboxes of NATS clients, also those with a user's prefix (shared/nats.ts). */
export const STATUS_REPLIES = /^_INBOX(?:_[\w-]+)?(?:\.[\w-]+)+$/;

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
