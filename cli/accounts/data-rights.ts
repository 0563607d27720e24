/**
 * `shorthop accounts export|erase|erase-clicks`: gives an account everything that is stored of it,
 * and erases it, with a proof.
 */
import { open } from "node:fs/promises";

import { type Command, InvalidArgumentError } from "commander";

import { Erasure, type Left, Proof } from "../../api/data-rights/erasure.ts";
import { exportAccount, recordExport } from "../../api/data-rights/export.ts";
import { findJournals } from "../../api/data-rights/streams.ts";
import { DAY_MS } from "../../shared/durations.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { parseId } from "../arguments.ts";
import type { Installation } from "../installation.ts";
import { listBackups } from "../machines/backup/manifest.ts";
import { storageAt } from "../machines/backup/storage.ts";
import { readSigner } from "../machines/links.ts";
import { ask, print } from "../output.ts";

/** Bytes that are written to a file at once. */
const CHUNK_BYTES = 1024 ** 2;

type Erased = { yes: boolean; json: boolean };
type ErasedClicks = Erased & { link?: Uuid; from?: Date; to?: Date };

export function addDataRightsCommands(accounts: Command, installation: Installation): void {
  const account = () =>
    accounts.createArgument("<id>", "the account's id (acct_…)").argParser(parseId("acct"));

  accounts
    .command("export")
    .description(
      "Export everything of an account as lines of JSON: what it has in PostgreSQL without secrets, and its clicks",
    )
    .addArgument(account())
    .requiredOption("--out <file>", "a new file, which only its owner may read")
    .option("--json", "print JSON", false)
    .action(async (id: Uuid, { out, json }: { out: string; json: boolean }) =>
      print(json, { file: out, ...(await writeExport(installation, id, out)) }),
    );

  accounts
    .command("erase")
    .description(
      "Erase an account and everything of it, in some minutes, and print the proof, which the audit log keeps",
    )
    .addArgument(account())
    .option("--yes", "without asking", false)
    .option("--json", "print JSON", false)
    .action(async (id: Uuid, options: Erased) => {
      await confirm(id, options, "Everything of it is lost");
      await erase(installation, id, options, (erasure) => erasure.eraseAccount(id));
    });

  accounts
    .command("erase-clicks")
    .description("Erase clicks of an account: those of a link, of days, or both; with a proof")
    .addArgument(account())
    .option("--link <id>", "of this link only (link_…)", parseId("link"))
    .option("--from <day>", "from this day (UTC), such as 2027-01-01", parseDay)
    .option("--to <day>", "up to this day, which has to be over", parseDay)
    .option("--yes", "without asking", false)
    .option("--json", "print JSON", false)
    .action(async (id: Uuid, options: ErasedClicks) => {
      const { link, from } = options;
      const range = { link, from, to: endOf(options) };
      await confirm(id, options, "These clicks are lost");
      await erase(installation, id, options, (erasure) => erasure.eraseClicks(id, range));
    });
}

function parseDay(text: string): Date {
  const day = new Date(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : Number.NaN);
  if (Number.isNaN(day.getTime()))
    throw new InvalidArgumentError("It must be a day such as 2027-01-31.");
  return day;
}

/** The end of the last day. Rollups have sums of days, so a day is erased as a whole. */
function endOf({ link, from, to }: ErasedClicks): Date | undefined {
  if ((from === undefined) !== (to === undefined)) throw new Error("Give both --from and --to.");
  if (to === undefined) {
    if (link === undefined) throw new Error("Give --link, or --from and --to.");
    return undefined;
  }
  const end = new Date(to.getTime() + DAY_MS);
  if (from !== undefined && from >= end) throw new Error("--from is after --to.");
  if (end.getTime() > Date.now()) throw new Error("The last day is not over.");
  return end;
}

/** Asks for the account's id unless `--yes` is given. */
async function confirm(id: Uuid, { yes }: Erased, warning: string): Promise<void> {
  const name = encodeId("acct", id);
  if (yes || (await ask(`${warning}. Repeat ${name} to go on: `, process.stderr)) === name) return;
  throw new Error("Nothing was erased.");
}

/** Writes the file, and records it in the account's ledger; returns the numbers of lines. */
async function writeExport(installation: Installation, account: Uuid, path: string) {
  const owner = installation.asOwner();
  return await owner.withPool((sql) =>
    owner.withClickHouse(async (clickhouse) => {
      // Throws for an account that does not exist, before there is a file.
      await recordExport(sql, account);
      const file = await open(path, "wx", 0o600);
      try {
        let lines = 0;
        let waiting = "";
        for await (const line of exportAccount(sql, clickhouse, account)) {
          lines++;
          waiting += `${line}\n`;
          if (waiting.length < CHUNK_BYTES) continue;
          await file.write(waiting);
          waiting = "";
        }
        await file.write(waiting);
        await file.sync();
        return { lines };
      } finally {
        await file.close();
      }
    }),
  );
}

async function erase(
  installation: Installation,
  account: Uuid,
  { json }: Erased,
  run: (erasure: Erasure) => Promise<void>,
): Promise<void> {
  const owner = installation.asOwner();
  const stopping = new AbortController();
  const stop = () => stopping.abort(new Error("Interrupted: run it again."));
  process.once("SIGINT", stop);
  const signer = await readSigner(installation);
  const proof = new Proof();
  proof.left.push(...ELSEWHERE, ...(await describeBackups(owner)));
  const journal = installation.env["JOURNAL_DIR"];
  const journals = journal === undefined ? findJournals() : [journal];
  try {
    await owner.withPool((sql) =>
      owner.withClickHouse((clickhouse) =>
        owner.withNats((nats) =>
          run(
            new Erasure(sql, clickhouse, nats, signer, journals, stopping.signal, printStep, proof),
          ),
        ),
      ),
    );
  } finally {
    process.off("SIGINT", stop);
  }
  const { remaining, earlier } = proof;
  print(json, {
    account: encodeId("acct", account),
    erased: remaining.length === 0,
    ...proof.toJson(),
    ...(earlier === undefined ? {} : { gone_since: earlier }),
  });
  if (remaining.length > 0)
    throw new Error(`Not everything is gone (${remaining.join(", ")}): run it again.`);
}

const printStep = (step: string): void => console.error(step);

/** What no command reaches, wherever it runs. */
const ELSEWHERE: readonly Left[] = [
  {
    what: "clicks and links that a host has which is cut off from NATS",
    until: "it is back; then run this again",
  },
  { what: "segments in the streams CLICKS of far regions", until: "72 hours" },
  {
    what: "entries of the links log in the mirrors of far regions",
    until: "region mirror --recreate",
  },
  {
    what: "what events of other accounts say of people who were their members",
    until: "EVENTS_RETENTION_DAYS",
  },
  { what: "mails and webhooks that were sent", until: "their receivers delete them" },
];

/** Backups that were made before: they have what was erased. */
async function describeBackups(owner: Installation): Promise<Left[]> {
  const storage = storageAt(owner.env);
  const backups = listBackups(await storage.list().catch(() => []));
  const until = "14 days, unless shorthop backup --keep says otherwise";
  const names = backups.length === 0 ? "" : `: ${backups.join(", ")}`;
  return [{ what: `backups in ${storage.place} and elsewhere${names}`, until }];
}
