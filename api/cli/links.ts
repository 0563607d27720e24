/** `shorthop admin links …`: maintains short links. */
import { type Command, InvalidArgumentError } from "commander";

import { isUuid } from "../../shared/contracts/member-checks.ts";
import type { Uuid } from "../../shared/ids.ts";
import { adoptDatabase, resyncLinks } from "../links-snapshots/resync.ts";
import { print, type WithDatabase, type WithNats } from "./context.ts";
import { addTakedownCommands } from "./takedowns.ts";

export function addLinkCommands(
  program: Command,
  withDatabase: WithDatabase,
  withNats: WithNats,
): void {
  const links = program.command("links").description("Short links");

  addTakedownCommands(links, withDatabase);

  links
    .command("resync")
    .description(
      "Make every redirector host take all links again, as PostgreSQL has them. Hosts that lack changes do so by themselves",
    )
    .option("--json", "print JSON", false)
    .action(({ json }: { json: boolean }) =>
      withDatabase((sql) =>
        withNats(async (nats) =>
          print(json, await resyncLinks(sql, await nats.jetstreamManager())),
        ),
      ),
    );

  links
    .command("adopt")
    .description(
      "Confirm that PostgreSQL, which is another database than the one that redirectors know, replaces it: they take its links",
    )
    .argument("<database>", "the database that redirectors have, as they name it", parseDatabase)
    .option("--json", "print JSON", false)
    .action((database: Uuid, { json }: { json: boolean }) =>
      withDatabase((sql) =>
        withNats(async (nats) =>
          print(json, await adoptDatabase(sql, await nats.jetstreamManager(), database)),
        ),
      ),
    );
}

function parseDatabase(text: string): Uuid {
  if (!isUuid(text)) throw new InvalidArgumentError("It must be a UUID.");
  return text.toLowerCase();
}
