/** `shorthop admin keys …`: manages API keys. */
import { type Command, Option } from "commander";

import { KeyService, toKeyResponse } from "../../api/keys/service.ts";
import { type Scope, SCOPES } from "../../shared/contracts/key-schemas.ts";
import { DAY_SECONDS } from "../../shared/durations.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { parseCount, parseId, parseInstant, parseName, parseScopes } from "../arguments.ts";
import type { Installation } from "../installation.ts";
import { mustExist, print, printList } from "../output.ts";

type NewKey = {
  account: Uuid;
  name: string;
  type: "live" | "test";
  scopes: Scope[];
  expires?: Date;
  json: boolean;
};

export function addKeyCommands(program: Command, installation: Installation): void {
  const keys = program.command("keys").description("API keys");

  keys
    .command("create")
    .description("Create an API key; its value is printed only once")
    .requiredOption("--account <id>", "the account (acct_…)", parseId("acct"))
    .requiredOption("--name <name>", "what the key is for", parseName)
    .addOption(
      new Option("--type <type>", "live or test").choices(["live", "test"]).default("live"),
    )
    .requiredOption("--scopes <list>", `comma-separated: ${SCOPES.join(", ")}`, parseScopes)
    .option("--expires <instant>", "when the key expires", parseInstant)
    .option("--json", "print JSON", false)
    .action((options: NewKey) =>
      installation.withDatabase(async (sql) => {
        const { row, key } = await new KeyService(sql).createAny({
          accountId: options.account,
          name: options.name,
          mode: options.type,
          scopes: options.scopes,
          expiresAt: options.expires ?? null,
        });
        print(options.json, { id: encodeId("key", row.id), key });
      }),
    );

  keys
    .command("list")
    .description("List an account's keys, without their values")
    .requiredOption("--account <id>", "the account (acct_…)", parseId("acct"))
    .option("--json", "print JSON", false)
    .action((options: { account: Uuid; json: boolean }) =>
      installation.withDatabase(async (sql) => {
        const rows = await new KeyService(sql).listAll(options.account);
        printList(options.json, rows.map(toKeyResponse));
      }),
    );

  keys
    .command("revoke")
    .description("Revoke an API key; takes effect with its next request")
    .argument("<id>", "the key's id (key_…)", parseId("key"))
    .option("--json", "print JSON", false)
    .action((id: Uuid, options: { json: boolean }) =>
      installation.withDatabase(async (sql) => {
        mustExist(await new KeyService(sql).revokeAny(id), "key");
        print(options.json, { id: encodeId("key", id), revoked: true });
      }),
    );

  keys
    .command("rotate")
    .description("Replace an API key; the new value is printed only once")
    .argument("<id>", "the key's id (key_…)", parseId("key"))
    .option("--grace <seconds>", "how long the old key stays valid", parseCount, DAY_SECONDS)
    .option("--json", "print JSON", false)
    .action((id: Uuid, options: { grace: number; json: boolean }) =>
      installation.withDatabase(async (sql) => {
        const { row, key } = await new KeyService(sql).rotateAny(id, options.grace);
        print(options.json, { id: encodeId("key", row.id), key });
      }),
    );
}
