/** `shorthop admin domains …`: custom domains of accounts. */
import type { Command } from "commander";

import { createTxtReader } from "../../api/domains/dns.ts";
import { createDomainService } from "../../api/domains/service.ts";
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
        const service = createDomainService({
          sql,
          // An API process publishes these changes, at its next look at the outbox.
          publisher: { publish: () => Promise.resolve(false) },
          readTxt: createTxtReader([]),
          ownHosts: new Set(),
          checkDestination: (url) => Promise.resolve(url),
        });
        mustExist(await service.release(host), "verified domain");
        print(json, { domain: host, released: true });
      }),
    );
}
