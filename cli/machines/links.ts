/**
 * `shorthop links resync|adopt|keys`: what redirectors have of the links, and how they know that it
 * is ours.
 */
import { type Command, InvalidArgumentError } from "commander";
import * as z from "zod";

import { resyncHosts } from "../../api/links-snapshots/hosts.ts";
import { isUuid } from "../../shared/contracts/member-checks.ts";
import { loadConfig } from "../../shared/env.ts";
import type { Uuid } from "../../shared/ids.ts";
import {
  linksKeyVariables,
  LogSigner,
  newSigningKey,
  publicKeyOf,
} from "../../shared/links-log/signature.ts";
import type { Installation } from "../installation.ts";
import { print } from "../output.ts";

export function addLinkCommands(links: Command, installation: Installation): void {
  const resync = (json: boolean, database?: Uuid): Promise<void> =>
    installation.withDatabase((sql) =>
      installation.withNats(async (nats) => {
        const signer = await readSigner(installation);
        const count = await resyncHosts(sql, await nats.jetstreamManager(), signer, database);
        if (database === undefined) await installation.recordCommand("links resync");
        else await installation.recordCommand("links adopt", { database });
        print(json, { links: count });
      }),
    );

  links
    .command("resync")
    .description(
      "Make every redirector host take all links again, as PostgreSQL has them. Hosts that lack changes do so by themselves",
    )
    .option("--json", "print JSON", false)
    .action(({ json }: { json: boolean }) => resync(json));

  links
    .command("adopt")
    .description(
      "Confirm that PostgreSQL, which is another database than the one that redirectors know, replaces it: they take its links",
    )
    .argument("<database>", "the database that redirectors have, as they name it", parseDatabase)
    .option("--json", "print JSON", false)
    .action((database: Uuid, { json }: { json: boolean }) => resync(json, database));

  links
    .command("keys")
    .description(
      "Make keys that sign the links log: lines for the environment files of the API and of redirectors",
    )
    .action(() => {
      const key = newSigningKey();
      console.log(`LINKS_SIGNING_KEY=${key}\nLINKS_PUBLIC_KEYS=${publicKeyOf(key)}`);
    });
}

/** The keys of the API, by which it is certain that a snapshot is one of an API process. */
export async function readSigner(installation: Installation): Promise<LogSigner> {
  const { url: LINKS_SIGNING_KEY, variables } = await installation.findSource("LINKS_SIGNING_KEY");
  const keys = loadConfig(z.object(linksKeyVariables), { ...variables, LINKS_SIGNING_KEY });
  return new LogSigner(keys);
}

function parseDatabase(text: string): Uuid {
  if (!isUuid(text)) throw new InvalidArgumentError("It must be a UUID.");
  return text.toLowerCase();
}
