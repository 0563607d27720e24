/** `shorthop listen`: forwards events to a program of this machine. */
import type { Command } from "commander";

import type { FollowOptions } from "../../typescript/src/index.ts";
import type { Settings } from "./settings.ts";
import { collect } from "./shorten.ts";
import type { Terminal } from "./terminal.ts";

/** The longest time that a program may take for an event. */
const POST_MS = 10_000;

type Options = { to?: string; type: string[]; after: string };

export function addListenCommand(program: Command, settings: Settings, terminal: Terminal): void {
  program
    .command("listen")
    .description("Print events as they happen, and post them to a URL, without a public address")
    .option("--to <url>", "where to post each event, such as http://localhost:8000/webhook")
    .option("--type <type>", "only these, such as link.created; repeat it for more", collect, [])
    .option("--after <event>", "the event after which to begin", "latest")
    .action(async ({ to, type, after }: Options) => {
      // The API says which types there are.
      const types = type as NonNullable<FollowOptions["type"]>;
      const wanted = type.length === 0 ? {} : { type: types };
      const events = settings.client().events.follow({ starting_after: after, ...wanted });
      terminal.say("Waiting for events. Stop with Ctrl-C.");
      for await (const event of events) {
        terminal.printJson(event);
        if (to !== undefined) terminal.say(`${to}: ${await post(to, event)}`);
      }
    });
}

/** The status of the response, or why there is none: the next event may come all the same. */
async function post(url: string, event: unknown): Promise<string> {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(event),
      signal: AbortSignal.timeout(POST_MS),
    });
    await response.body?.cancel();
    return String(response.status);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
