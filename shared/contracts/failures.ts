/**
 * Failed requests: those that were not redirected. Redirectors count them, and report the counts to
 * a worker every minute (docs/decisions/0026-failed-requests.md).
 */
import * as z from "zod";

import { NIL_UUID, type Uuid } from "../ids.ts";
import { isAlias } from "./alias.ts";
import { LINK_FAILURES } from "./analytics.ts";

/** Subject of the reports; one worker takes each (deploy/nats/users.conf says who may send). */
export const FAILURES_SUBJECT = "failures.report";

/** Workers share the reports as members of this queue group. */
export const FAILURES_QUEUE = "workers";

/** Subject on which a redirector learns that a report is stored. */
export const failuresAckSubject = (report: Uuid): string => `failures.ack.${report}`;

/** Matches these subjects. */
export const FAILURES_REPLIES = /^failures\.ack\.[\w-]+$/;

/**
 * Counts are stored by quarter hour, as the offset of every time zone is a multiple of 15 minutes.
 */
export const FAILURE_BUCKET_SECONDS = 900;

/** Maximum links with a reason in one report. More are in the next one. */
export const REPORTED_LINKS_MAX = 1_000;

/** Maximum domains with unknown aliases in one report. Requests for others are not counted. */
export const REPORTED_DOMAINS_MAX = 500;

/** Maximum unknown aliases that a report names. Others are counted only for their domain. */
export const REPORTED_ALIASES_MAX = 500;

/** Maximum characters of a request's host (redirector/http/header-fields.ts); it need not exist. */
export const DOMAIN_LENGTH_MAX = 260;

const domain = z.string().max(DOMAIN_LENGTH_MAX);
const requests = z.int().min(1);

/**
 * Stored as account and link of an unknown alias, which has neither: its domain's owner may change.
 */
export const NO_OWNER = NIL_UUID;

/** The id of a report, by which it is stored once if it is sent twice. */
export const reportId = z.object({ id: z.guid() });

/**
 * A report. With the bounds above it takes less than 1 MiB, the most that nats-server accepts by
 * default.
 */
export const failureReport = z.object({
  ...reportId.shape,
  /** Start of the quarter hour, in Unix seconds. */
  bucket: z.int().min(0),
  links: z
    .array(
      z.object({
        account_id: z.guid(),
        mode: z.enum(["live", "test"]),
        domain,
        link_id: z.guid(),
        reason: z.enum(LINK_FAILURES),
        requests,
      }),
    )
    .max(REPORTED_LINKS_MAX),
  /** Requests for unknown aliases of a custom domain. */
  domains: z.array(z.object({ domain, requests })).max(REPORTED_DOMAINS_MAX),
  /** The unknown aliases that are named. */
  aliases: z
    .array(z.object({ domain, alias: z.string().refine(isAlias), requests }))
    .max(REPORTED_ALIASES_MAX),
});

export type FailureReport = z.output<typeof failureReport>;
