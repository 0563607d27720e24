/** `shorthop status`: requests the status of all processes of the installation over NATS. */
import { type Command, Option } from "commander";

import { requestStatuses } from "../../shared/status.ts";
import { parseCount } from "../arguments.ts";
import type { WithNats } from "../context.ts";
import { formatStatus } from "./status-table.ts";

const WAIT_SECONDS = 2;

/** Clears a terminal, and moves its cursor to the top (ECMA-48: ED, CUP). */
const CLEAR = "\u001B[2J\u001B[H";

type Options = { wait: number; json: boolean; watch: boolean };

export function addStatusCommand(program: Command, withNats: WithNats): void {
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
    .action(({ wait, json, watch }: Options) =>
      withNats(async (nats) => {
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
