/**
 * `shorthop links resync|adopt|keys`: what redirectors have of the links, and how they know that it
 * is ours.
 */
import { type Command, InvalidArgumentError } from "commander";
import type { NatsConnection } from "nats";
import * as z from "zod";

import { adoptDatabase, resyncLinks } from "../../api/links-snapshots/resync.ts";
import type { Sql } from "../../api/postgres.ts";
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
  const withStores = <T>(work: (sql: Sql, nats: NatsConnection) => Promise<T>): Promise<T> =>
    installation.withDatabase((sql) => installation.withNats((nats) => work(sql, nats)));

  links
    .command("resync")
    .description(
      "Make every redirector host take all links again, as PostgreSQL has them. Hosts that lack changes do so by themselves",
    )
    .option("--json", "print JSON", false)
    .action(({ json }: { json: boolean }) =>
      withStores(async (sql, nats) => {
        const signer = await readSigner(installation);
        const result = await resyncLinks(sql, await nats.jetstreamManager(), signer);
        await installation.recordCommand("links resync");
        print(json, result);
      }),
    );

  links
    .command("adopt")
    .description(
      "Confirm that PostgreSQL, which is another database than the one that redirectors know, replaces it: they take its links",
    )
    .argument("<database>", "the database that redirectors have, as they name it", parseDatabase)
    .option("--json", "print JSON", false)
    .action((database: Uuid, { json }: { json: boolean }) =>
      withStores(async (sql, nats) => {
        const signer = await readSigner(installation);
        const manager = await nats.jetstreamManager();
        const result = await adoptDatabase(sql, manager, signer, database);
        await installation.recordCommand("links adopt", { database });
        print(json, result);
      }),
    );

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
