/** `shorthop login|logout`. */
import type { Command } from "commander";

import { createClient } from "../../typescript/src/index.ts";
import type { Settings } from "./settings.ts";
import type { Terminal } from "./terminal.ts";

export function addLoginCommands(program: Command, settings: Settings, terminal: Terminal): void {
  program
    .command("login")
    .description("Store where the API is and an API key for it, in a file that only you can read")
    .argument("[url]", "where the API is, such as https://api.example.com")
    .action(async (given: string | undefined) => {
      const asked = given ?? (await terminal.ask("URL of the API: "));
      const url = asked.endsWith("/") ? asked.slice(0, -1) : asked;
      settings.requireSafe(url);
      const key = await terminal.ask("API key: ", { isSecret: true });
      // A key that does not work is said at once.
      await createClient({ baseUrl: url, apiKey: key }).limits();
      settings.store({ url, key });
      terminal.say(`Signed in to ${url}. The key is in ${settings.path}.`);
    });

  program
    .command("logout")
    .description("Forget the API key; it goes on working until it is revoked")
    .action(() => {
      settings.forget();
      terminal.say("Signed out.");
    });
}
