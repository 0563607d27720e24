/** `shorthop status`: requests the status of all processes of the installation over NATS. */
import { type Command, Option } from "commander";

import { type Figures, type ProcessStatus, requestStatuses } from "../../shared/status.ts";
import { parseCount } from "../arguments.ts";
import type { Installation } from "../installation.ts";

const WAIT_SECONDS = 2;

/** Clears a terminal, and moves its cursor to the top (ECMA-48: ED, CUP). */
const CLEAR = "\u001B[2J\u001B[H";

export function addStatusCommand(program: Command, installation: Installation): void {
  program
    .command("status")
    .summary("List the processes of all hosts, and how they are")
    .description(
      "List the processes of all hosts: version, readiness, lag, journal, connections. Requests them over NATS, as the user of " +
        "api.env: a process that does not respond in time is not listed, as nobody knows of it. Exits with 1 if one is " +
        "not ready, or none responds",
    )
    .addOption(
      new Option("--wait <seconds>", "how long to wait for responses")
        .argParser(parseCount)
        .default(WAIT_SECONDS),
    )
    .option("--watch", "repeat until interrupted", false)
    .option("--json", "print JSON: an array, with --watch one per line", false)
    .action(({ wait, json, watch }: { wait: number; json: boolean; watch: boolean }) =>
      installation.withNats(async (nats) => {
        const waitMs = Math.max(1, wait) * 1_000;
        do {
          const processes = await requestStatuses(nats, waitMs);
          const text = json ? JSON.stringify(processes) : formatStatus(processes, waitMs);
          console.log(watch && !json && process.stdout.isTTY ? CLEAR + text : text);
          const ready = processes.every(({ status }) => status === "ready");
          process.exitCode = ready && processes.length > 0 ? 0 : 1;
        } while (watch);
      }),
    );
}

const COLUMNS = ["PROCESS", "HOST", "VERSION", "UP", "STATE", "LAG", "JOURNAL", "CONNECTIONS"];

/** Formats processes as a table, with reasons why they are not ready, and warnings. */
export function formatStatus(
  processes: readonly ProcessStatus[],
  waitMs: number,
  now = Date.now(),
): string {
  const rows = [COLUMNS, ...processes.map((status) => toCells(status, now))];
  const widths = COLUMNS.map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const [head = "", ...lines] = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  const ready = processes.filter(({ status }) => status === "ready").length;
  return [
    head,
    ...processes.flatMap((status, i) => [lines[i] ?? "", ...reasonsOf(status)]),
    "",
    `${processes.length} processes responded within ${waitMs / 1_000} s, ${ready} of them ready. One that is down, or cut off from`,
    "NATS, is not listed: compare with what should run.",
  ].join("\n");
}

function toCells(status: ProcessStatus, now: number): string[] {
  const { process, instance, host, version, figures } = status;
  return [
    instance === null ? process : `${process}@${instance}`,
    host,
    version,
    formatDuration((now - Date.parse(status.started_at)) / 1_000),
    status.status === "ready" ? stateOf(figures) : "NOT READY",
    lagOf(figures),
    figures.journal_bytes === undefined ? "" : formatBytes(figures.journal_bytes),
    figures.connections === undefined ? "" : String(figures.connections),
  ];
}

/** Only one of the workers stores clicks. */
function stateOf({ owner, owner_epoch: epoch }: Figures): string {
  if (owner === undefined) return "ready";
  return owner ? `ready, owner (epoch ${epoch ?? "?"})` : "ready, stands by";
}

function lagOf(figures: Figures): string {
  const { feed_age_seconds: age, feed_lag_messages: behind, segments_pending: segments } = figures;
  return [
    ...(age === undefined ? [] : [`feed ${age.toFixed(1)} s`]),
    ...(behind === undefined || behind === 0 ? [] : [`${behind} messages`]),
    ...(figures.clicks_lag_seconds === undefined
      ? []
      : [`clicks ${figures.clicks_lag_seconds.toFixed(1)} s`]),
    ...(segments === undefined || segments === 0 ? [] : [`${segments} segments`]),
    ...(figures.outbox_pending === undefined ? [] : [`outbox ${figures.outbox_pending}`]),
  ].join(", ");
}

function reasonsOf({ parts, warnings }: ProcessStatus): string[] {
  const unready = Object.entries(parts).filter(([, state]) => state !== "ok");
  return [...unready, ...Object.entries(warnings)].map(([part, text]) => `    ${part}: ${text}`);
}

const formatBytes = (bytes: number): string =>
  bytes < 1024 ** 2 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 1024 ** 2).toFixed(1)} MiB`;

/** The two largest units, such as `3d 4h`. */
function formatDuration(seconds: number): string {
  const minutes = Math.max(0, Math.floor(seconds / 60));
  const [days, hours] = [Math.floor(minutes / 1_440), Math.floor(minutes / 60) % 24];
  if (days > 0) return `${days}d ${hours}h`;
  return hours > 0 ? `${hours}h ${minutes % 60}m` : `${minutes}m`;
}
