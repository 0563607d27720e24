/** `shorthop admin links …`: maintains short links. */
import { type Command, InvalidArgumentError } from "commander";
import * as z from "zod";

import { adoptDatabase, resyncLinks } from "../../api/links-snapshots/resync.ts";
import { isUuid } from "../../shared/contracts/member-checks.ts";
import { loadConfig } from "../../shared/env.ts";
import type { Uuid } from "../../shared/ids.ts";
import {
  linksKeyVariables,
  LogSigner,
  newSigningKey,
  publicKeyOf,
} from "../../shared/links-log/signature.ts";
import { addTakedownCommands } from "../accounts/takedowns.ts";
import { print, type WithDatabase, type WithNats } from "../context.ts";
import { findSource } from "../endpoints.ts";

export function addLinkCommands(
  program: Command,
  env: Record<string, string | undefined>,
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
          print(json, await resyncLinks(sql, await nats.jetstreamManager(), await findSigner(env))),
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
          print(
            json,
            await adoptDatabase(
              sql,
              await nats.jetstreamManager(),
              await findSigner(env),
              database,
            ),
          ),
        ),
      ),
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
async function findSigner(env: Record<string, string | undefined>): Promise<LogSigner> {
  const { url: LINKS_SIGNING_KEY, variables } = await findSource(env, "LINKS_SIGNING_KEY");
  return new LogSigner(
    loadConfig(z.object(linksKeyVariables), { ...variables, LINKS_SIGNING_KEY }),
  );
}

function parseDatabase(text: string): Uuid {
  if (!isUuid(text)) throw new InvalidArgumentError("It must be a UUID.");
  return text.toLowerCase();
}
