/**
 * `shorthop audit …`: the audit log, which is the ledger of events: what it has of an account or of
 * the installation, and whether nothing of it was changed or removed.
 */
import { readFileSync } from "node:fs";

import type { Command } from "commander";
import * as z from "zod";

import { type ChainEnd, verifyChains } from "../../api/events/chain.ts";
import { INSTALLATION } from "../../api/events/record.ts";
import { listForOperator } from "../../api/events/service.ts";
import { UserService } from "../../api/sessions/users.ts";
import type { Mode } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import { parseCount, parseId } from "../arguments.ts";
import type { Installation } from "../installation.ts";
import { printList, runOnDatabase } from "../output.ts";
import { readSigner } from "./links.ts";

type Listed = { account?: Uuid; test: boolean; limit: number };

export function addAuditCommands(program: Command, installation: Installation): void {
  const audit = program.command("audit").description("The audit log: who did what");
  addVerification(audit, installation);
  addList(audit, installation);
  const signIns = audit
    .command("sign-ins")
    .description("Count the refused sign-ins with addresses that nobody has, by day");
  runOnDatabase(installation, signIns, (sql) => UserService.forOperators(sql).listUnknownSignIns());
}

function addVerification(audit: Command, installation: Installation): void {
  audit
    .command("verify")
    .description(
      "Verify the chain of hashes of each account and mode, and name the first entry that was changed, added or removed. " +
        "Exits with 1 if there is one",
    )
    .option("--account <id>", "only of this account (acct_…)", parseId("acct"))
    .option("--expect <file>", "what an earlier run printed with --json: it must still be true")
    .option("--json", "print JSON", false)
    .action(({ account, expect, json }: { account?: Uuid; expect?: string; json: boolean }) =>
      installation.withDatabase(async (sql) => {
        const known = expect === undefined ? [] : readEnds(expect);
        const signer = await readSigner(installation);
        const chains = await Array.fromAsync(verifyChains(sql, signer, account, known));
        printList(json, chains);
        const broken = chains.filter(({ problem }) => problem !== null);
        if (broken.length > 0)
          throw new Error(
            broken
              .map(
                ({ account, mode, problem }) => `${account ?? "installation"} ${mode}: ${problem}`,
              )
              .join("\n"),
          );
      }),
    );
}

const endsSchema = z.array(
  z.object({
    account: z.string().nullable(),
    mode: z.string(),
    position: z.number(),
    hash: z.string(),
  }),
);

const readEnds = (path: string): ChainEnd[] =>
  endsSchema.parse(JSON.parse(readFileSync(path, "utf8")));

function addList(audit: Command, installation: Installation): void {
  const list = audit
    .command("list")
    .description(
      "List the newest entries: commands that concern no account, or those of an account",
    )
    .option("--account <id>", "the account (acct_…)", parseId("acct"))
    .option("--test", "of its test mode", false)
    .option("--limit <n>", "so many at most", parseCount, 100);
  runOnDatabase(installation, list, (sql, { account, test, limit }: Listed) => {
    const mode: Mode = test ? "test" : "live";
    const owner = account === undefined ? INSTALLATION : { accountId: account, mode };
    return listForOperator(sql, owner, limit);
  });
}
