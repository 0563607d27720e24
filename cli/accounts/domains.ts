/** `shorthop admin domains …`: custom domains of accounts. */
import type { Command } from "commander";

import { releaseHost } from "../../api/domains/verification.ts";
import { parseHost } from "../arguments.ts";
import { mustExist, print, type WithDatabase } from "../context.ts";

export function addDomainCommands(program: Command, withDatabase: WithDatabase): void {
  const domains = program.command("domains").description("Custom domains");

  domains
    .command("release")
    .description(
      "Take a domain from the account that has verified it: its links stop redirecting, and any account may verify it",
    )
    .argument("<host>", "the domain's name", parseHost)
    .option("--json", "print JSON", false)
    .action((host: string, { json }: { json: boolean }) =>
      withDatabase(async (sql) => {
        mustExist(await releaseHost(sql, host), "verified domain");
        print(json, { domain: host, released: true });
      }),
    );
}
