/** `shorthop mcp`: tools for assistants, over standard input and output or HTTP. */
import { type Command, InvalidArgumentError } from "commander";

import type { Settings } from "./settings.ts";
import type { Terminal } from "./terminal.ts";

type Options = { write: boolean; http?: number };

export function addMcpCommand(program: Command, settings: Settings, terminal: Terminal): void {
  program
    .command("mcp")
    .description("Serve tools for assistants (Model Context Protocol) on standard input and output")
    .option("--write", "also tools that create, change and delete links", false)
    .option(
      "--http <port>",
      "serve on this port of the machine; callers send their keys",
      parsePort,
    )
    .action(async ({ write, http }: Options) => {
      const tools = write ? "all tools" : "tools that read";
      // Only here, as loading them takes longer than most commands.
      if (http !== undefined) {
        const { serveHttp } = await import("./mcp-server.ts");
        await serveHttp(settings.url(), http, write);
        terminal.say(`Serving ${tools} on http://127.0.0.1:${http}.`);
        return;
      }
      const client = settings.client();
      const { StdioServerTransport } = await import("@modelcontextprotocol/sdk/server/stdio.js");
      const { buildServer } = await import("./mcp-server.ts");
      await buildServer(client, write).connect(new StdioServerTransport());
      terminal.say(`Serving ${tools}.`);
    });
}

function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) throw new InvalidArgumentError("It must be a port.");
  return port;
}
