/** `shorthop admin dlq …`: pages of clicks that ClickHouse refused for good. */
import type { Command } from "commander";
import type { NatsConnection } from "nats";

import { dropDeadPage, listDeadPages, retryDeadPage } from "../../shared/contracts/dead-clicks.ts";
import { parseCount } from "./arguments.ts";
import { mustExist, print, printList, type WithNats } from "./run.ts";

type Options = { json: boolean };

export function addDlqCommands(program: Command, withNats: WithNats): void {
  const dlq = program.command("dlq").description("Pages of clicks that were set aside");

  dlq
    .command("list")
    .description("What was set aside, and why")
    .option("--json", "print JSON", false)
    .action(({ json }: Options) =>
      withNats(async (nats) => printList(json, await listDeadPages(await nats.jetstreamManager()))),
    );

  /** A command on one page, or on all of them. */
  function addCommand(
    name: string,
    description: string,
    work: (nats: NatsConnection, sequence: number) => Promise<boolean>,
  ): void {
    dlq
      .command(name)
      .description(description)
      .argument("[sequence]", "a page's sequence; every page when left out", parseCount)
      .option("--json", "print JSON", false)
      .action((sequence: number | undefined, { json }: Options) =>
        withNats(async (nats) => {
          const sequences =
            sequence === undefined
              ? (await listDeadPages(await nats.jetstreamManager())).map((page) => page.sequence)
              : [sequence];
          for (const each of sequences) mustExist(await work(nats, each), "page");
          print(json, { pages: sequences.length });
        }),
      );
  }

  addCommand("retry", "Send pages on their way again", async (nats, sequence) =>
    retryDeadPage(await nats.jetstreamManager(), nats.jetstream(), sequence),
  );
  addCommand("drop", "Give pages up for good", async (nats, sequence) =>
    dropDeadPage(await nats.jetstreamManager(), sequence),
  );
}
