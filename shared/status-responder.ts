/** Responds to `shorthop status` with this process's identity, health and current values. */
import { hostname } from "node:os";

import type { NatsConnection } from "nats";

import {
  type Figures,
  type ProcessStatus,
  STATUS_REPLIES,
  STATUS_SUBJECT,
} from "./contracts/process-status.ts";
import { type HealthSource, readHealth } from "./health.ts";
import type { Log } from "./log.ts";
import type { Replies } from "./replies.ts";
import { withTimeout } from "./timeout.ts";
import { version } from "./version.ts";

/**
 * Reading health and values may query a store; the response must be sent before the client's
 * timeout.
 */
const READ_TIMEOUT_MS = 1_000;

type StatusResponderOptions = {
  nats: Promise<NatsConnection>;
  replies: Replies;
  process: ProcessStatus["process"];
  instance?: number | undefined;
  health: HealthSource;
  /** Undefined values are left out. */
  figures: () => { [Name in keyof Figures]: Figures[Name] | undefined } | Promise<Figures>;
  log: Log;
};

/**
 * Responds until the connection is closed. Without the permission, it logs an error and the process
 * runs on.
 */
export function answerStatus({
  nats,
  replies,
  health,
  figures,
  log,
  ...names
}: StatusResponderOptions): void {
  const startedAt = new Date(Date.now() - process.uptime() * 1_000).toISOString();

  async function read(): Promise<string> {
    const [{ status, parts, warnings }, values] = await Promise.all([
      withTimeout(readHealth(health), READ_TIMEOUT_MS).catch(toUnready),
      withTimeout(Promise.resolve(figures()), READ_TIMEOUT_MS).catch(() => ({})),
    ]);
    return JSON.stringify({
      process: names.process,
      instance: names.instance ?? null,
      host: hostname(),
      pid: process.pid,
      version,
      started_at: startedAt,
      status,
      parts,
      warnings,
      figures: values,
    });
  }

  async function run(): Promise<void> {
    const connection = await nats;
    for await (const request of connection.subscribe(STATUS_SUBJECT)) {
      const reply = replies.to(request, STATUS_REPLIES);
      if (reply !== undefined) reply(await read());
    }
  }

  run().catch((error: unknown) => log.warn({ error }, "status_not_answered"));
}

const toUnready = (error: unknown) => ({
  status: "not_ready" as const,
  parts: { readiness: error instanceof Error ? error.message : String(error) },
  warnings: {},
});
