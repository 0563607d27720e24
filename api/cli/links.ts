/** `shorthop admin links …`: maintains short links. */
import type { Command } from "commander";

import { resyncLinks } from "../feed/resync.ts";
import { print, type WithDatabase } from "./context.ts";
import { addTakedownCommands } from "./takedowns.ts";

export function addLinkCommands(program: Command, withDatabase: WithDatabase): void {
  const links = program.command("links").description("Short links");

  addTakedownCommands(links, withDatabase);

  links
    .command("resync")
    .description(
      "Publish every link to the redirectors again under new versions, and withdraw what is no link any more. A running API does so by itself when the links feed was lost or PostgreSQL restored",
    )
    .option("--json", "print JSON", false)
    .action(({ json }: { json: boolean }) =>
      withDatabase(async (sql) => {
        const links = await resyncLinks(sql, (count) => console.error(`${count} links`));
        print(json, { links });
      }),
    );
}
