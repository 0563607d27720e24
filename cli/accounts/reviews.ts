/** `shorthop reviews …`: links that were reported, or whose destination came to be on a list. */
import type { Command } from "commander";

import { decideReview, findReviews, type Verdict } from "../../api/reviews/service.ts";
import { waitUntilPublished } from "../../api/takedowns/service.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { parseCount, parseId } from "../arguments.ts";
import type { Installation } from "../installation.ts";
import { mustExist, print, printList } from "../output.ts";

export function addReviewCommands(program: Command, installation: Installation): void {
  const reviews = program
    .command("reviews")
    .description(
      "Links that visitors reported, or whose destination came to be on a list of hosts",
    );

  reviews
    .command("list")
    .description("List the links that wait for a decision, the newest first")
    .option("--all", "also those that are decided", false)
    .option("--limit <n>", "so many at most", parseCount, 100)
    .option("--json", "print JSON", false)
    .action(({ all, limit, json }: { all: boolean; limit: number; json: boolean }) =>
      installation.withDatabase(async (sql) => {
        const rows = await findReviews(sql, all, limit);
        printList(
          json,
          rows.map(({ link_id, account_id, host, ...row }) => ({
            id: encodeId("link", link_id),
            account: encodeId("acct", account_id),
            domain: host,
            ...row,
          })),
        );
      }),
    );

  const addDecision = (name: string, description: string, verdict: Verdict) =>
    reviews
      .command(name)
      .description(description)
      .argument("<id>", "the link's id (link_…)", parseId("link"))
      .option("--json", "print JSON", false)
      .action((id: Uuid, { json }: { json: boolean }) =>
        installation.withDatabase(async (sql) => {
          mustExist(await decideReview(sql, id, verdict), "link that waits for a decision");
          const published = verdict === "kept" || (await waitUntilPublished(sql));
          print(json, { id: encodeId("link", id), verdict, published });
        }),
      );
  addDecision(
    "keep",
    "Leave a link as it is, whatever lists and visitors say, until it is changed",
    "kept",
  );
  addDecision("take-down", "Take a link down, as links disable does", "taken_down");
}
