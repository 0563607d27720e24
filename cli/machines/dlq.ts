/** `shorthop admin dlq …`: manages the dead-letter queue of segments that ClickHouse rejected. */
import type { Command } from "commander";
import type { NatsConnection } from "nats";

import {
  dropDeadLetter,
  listDeadLetters,
  retryDeadLetter,
} from "../../shared/contracts/dead-letters.ts";
import { parseCount } from "../arguments.ts";
import { mustExist, print, printList, type WithNats } from "../context.ts";

type Options = { json: boolean };

export function addDlqCommands(program: Command, withNats: WithNats): void {
  const dlq = program
    .command("dlq")
    .description("The dead-letter queue: segments of clicks that could not be stored");

  dlq
    .command("list")
    .description("List dead-lettered segments with their reasons")
    .option("--json", "print JSON", false)
    .action(({ json }: Options) =>
      withNats(async (nats) =>
        printList(json, await listDeadLetters(await nats.jetstreamManager())),
      ),
    );

  /** Adds a command that runs `work` on one segment or on all of them. */
  function addCommand(
    name: string,
    description: string,
    work: (nats: NatsConnection, sequence: number) => Promise<boolean>,
  ): void {
    dlq
      .command(name)
      .description(description)
      .argument("[sequence]", "sequence of one segment (default: all segments)", parseCount)
      .option("--json", "print JSON", false)
      .action((sequence: number | undefined, { json }: Options) =>
        withNats(async (nats) => {
          const sequences =
            sequence === undefined
              ? (await listDeadLetters(await nats.jetstreamManager())).map(
                  (deadLetter) => deadLetter.sequence,
                )
              : [sequence];
          for (const each of sequences) mustExist(await work(nats, each), "segment");
          print(json, { segments: sequences.length });
        }),
      );
  }

  addCommand("retry", "Publish segments again", async (nats, sequence) =>
    retryDeadLetter(await nats.jetstreamManager(), nats.jetstream(), sequence),
  );
  addCommand("drop", "Delete segments permanently; their clicks are lost", async (nats, sequence) =>
    dropDeadLetter(await nats.jetstreamManager(), sequence),
  );
}
