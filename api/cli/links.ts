/** `shorthop admin links …`: maintains short links. */
import type { Command } from "commander";

import { resyncLinks } from "../links/resync.ts";
import { print, type WithDatabase } from "./context.ts";
import { addTakedownCommands } from "./takedowns.ts";

export function addLinkCommands(program: Command, withDatabase: WithDatabase): void {
  const links = program.command("links").description("Short links");

  addTakedownCommands(links, withDatabase);

  links
    .command("resync")
    .description(
      "Publish every link to the redirectors again, after the links feed was lost or rolled back",
    )
    .option("--json", "print JSON", false)
    .action(({ json }: { json: boolean }) =>
      withDatabase(async (sql) => {
        const queued = await resyncLinks(sql, (count) => console.error(`${count} links`));
        print(json, { queued });
      }),
    );
}
