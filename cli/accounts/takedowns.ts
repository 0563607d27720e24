/**
 * What an operator takes from accounts: `shorthop links disable|enable|disabled` takes links down
 * and restores them, `shorthop reviews …` decides about those that were reported, or whose
 * destination came to be on a list, `shorthop domains release` takes a domain.
 */
import type { Command } from "commander";

import { parseDomain } from "../../api/domains/model.ts";
import { releaseHost } from "../../api/domains/verification.ts";
import { findTakenDown, takeLinkDown } from "../../api/links/takedown.ts";
import type { Sql } from "../../api/postgres.ts";
import { decideReview, findReviews, type Verdict } from "../../api/reviews/service.ts";
import {
  changeTakedowns,
  findTakedowns,
  type TakedownKind,
  waitUntilPublished,
} from "../../api/takedowns/service.ts";
import { decodeAliasPath } from "../../shared/contracts/alias.ts";
import { DEFAULT_DOMAIN } from "../../shared/contracts/link-record.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { parseCount, parseHost, parseId } from "../arguments.ts";
import type { Installation } from "../installation.ts";
import { mustExist, runOnDatabase } from "../output.ts";

/** What to take down: exactly one of link, account and host. */
type Target = {
  alias?: string;
  domain?: string;
  account?: Uuid;
  host?: string;
};

export function addTakedownCommands(links: Command, installation: Installation): void {
  const addCommand = (name: string, description: string, down: boolean): void => {
    const command = links
      .command(name)
      .description(description)
      .option("--alias <alias>", "the link with this alias", decodeAliasPath)
      .option("--domain <host>", "its domain (default: the service's own)", parseDomainName)
      .option("--account <id>", "all links of an account (acct_…)", parseId("acct"))
      .option(
        "--host <host>",
        "all links that redirect to a host or to a name below it",
        parseHost,
      );
    runOnDatabase(installation, command, async (sql, options: Target) => {
      const target = await change(sql, options, down);
      const published = await waitUntilPublished(sql);
      if (!published) console.error("It follows as soon as an API process and NATS are running.");
      return { ...target, disabled: down, published };
    });
  };
  addCommand(
    "disable",
    "Take links down: visitors get status 451 on every redirector, and owners cannot lift it",
    true,
  );
  addCommand("enable", "Lift a takedown", false);

  const disabled = links.command("disabled").description("List what is taken down");
  runOnDatabase(installation, disabled, async (sql) => {
    const single = await findTakenDown(sql);
    const others = await findTakedowns(sql);
    return [
      ...single.map(({ host, alias }) => ({ alias, domain: host })),
      ...others.map(({ kind, subject, created_at }) => ({
        ...toTarget(kind, subject),
        since: created_at.toISOString(),
      })),
    ];
  });
}

async function change(sql: Sql, { alias, domain, account, host }: Target, down: boolean) {
  const given = [alias, account, host].filter((option) => option !== undefined);
  if (given.length !== 1) throw new Error("Give one of --alias, --account and --host.");
  if (domain !== undefined && alias === undefined)
    throw new Error("--domain says where an --alias is.");
  if (alias !== undefined) {
    const isFound = await takeLinkDown(sql, { domain: domain ?? DEFAULT_DOMAIN, alias }, down);
    mustExist(isFound, "link");
    return { alias, domain: domain ?? null };
  }
  const [kind, subject]: [TakedownKind, string] =
    account === undefined ? ["host", host ?? ""] : ["account", account];
  mustExist(await changeTakedowns(sql, kind, subject, down), down ? kind : "takedown");
  return toTarget(kind, subject);
}

const toTarget = (kind: TakedownKind, subject: string): Record<string, string> => ({
  [kind]: kind === "account" ? encodeId("acct", subject) : subject,
});

/** Parses the name of a custom domain. */
function parseDomainName(text: string): string {
  const parsed = parseDomain(text);
  return "host" in parsed ? parsed.host : parseHost(text);
}

export function addDomainCommands(program: Command, installation: Installation): void {
  const release = program
    .command("domains")
    .description("Custom domains")
    .command("release")
    .description(
      "Take a domain from the account that has verified it: its links stop redirecting, and any account may verify it",
    )
    .argument("<host>", "the domain's name", parseHost);
  runOnDatabase(installation, release, async (sql, host: string) => {
    mustExist(await releaseHost(sql, host), "verified domain");
    return { domain: host, released: true };
  });
}

export function addReviewCommands(program: Command, installation: Installation): void {
  const reviews = program
    .command("reviews")
    .description(
      "Links that visitors reported, or whose destination came to be on a list of hosts",
    );

  const list = reviews
    .command("list")
    .description("List the links that wait for a decision, the newest first")
    .option("--all", "also those that are decided", false)
    .option("--limit <n>", "so many at most", parseCount, 100);
  runOnDatabase(
    installation,
    list,
    async (sql, { all, limit }: { all: boolean; limit: number }) => {
      const rows = await findReviews(sql, all, limit);
      return rows.map(({ link_id, account_id, host, ...row }) => ({
        id: encodeId("link", link_id),
        account: encodeId("acct", account_id),
        domain: host,
        ...row,
      }));
    },
  );

  const addDecision = (name: string, description: string, verdict: Verdict): void => {
    const command = reviews
      .command(name)
      .description(description)
      .argument("<id>", "the link's id (link_…)", parseId("link"));
    runOnDatabase(installation, command, async (sql, id: Uuid) => {
      mustExist(await decideReview(sql, id, verdict), "link that waits for a decision");
      const published = verdict === "kept" || (await waitUntilPublished(sql));
      return { id: encodeId("link", id), verdict, published };
    });
  };
  addDecision(
    "keep",
    "Leave a link as it is, whatever lists and visitors say, until it is changed",
    "kept",
  );
  addDecision("take-down", "Take a link down, as links disable does", "taken_down");
}
