/** `shorthop stats` and `shorthop export`. */
import { type Command, Option } from "commander";

import type { Client } from "../../typescript/src/index.ts";
import { findId } from "./links.ts";
import type { Settings } from "./settings.ts";
import { present } from "./shorten.ts";
import type { Terminal } from "./terminal.ts";

const PERIODS = ["24h", "7d", "30d", "90d", "all"] as const;

type Period = (typeof PERIODS)[number];

/** Rows of a breakdown. */
const ROWS = 20;

const periodOption = () =>
  new Option("--period <period>", "the last hours or days").choices(PERIODS).default("30d");

type Asked = { period: Period; by?: string; timezone?: string; json: boolean };

export function addStatsCommands(program: Command, settings: Settings, terminal: Terminal): void {
  program
    .command("stats")
    .description(
      "Show the clicks of a link, or of all links, by day or by what they have in common",
    )
    .argument("[link]", "the link: its id, alias or short URL")
    .addOption(periodOption())
    .option("--by <dimension>", "such as country, city, device, browser, referrer, link or tag")
    .option("--timezone <name>", "the time zone of days, such as Europe/Berlin")
    .option("--json", "print JSON", false)
    .action(async (given: string | undefined, options: Asked) => {
      const client = settings.client();
      const id = given === undefined ? undefined : await findId(client, given);
      if (options.by === undefined) await printDays(client, terminal, id, options);
      else await printBreakdown(client, terminal, id, options.by, options);
    });

  program
    .command("export")
    .description("Print every single click of a period as a line of JSON")
    .argument("[link]", "the link: its id, alias or short URL")
    .addOption(periodOption())
    .action(async (given: string | undefined, { period }: { period: Period }) => {
      const client = settings.client();
      const link = given === undefined ? {} : { link_id: await findId(client, given) };
      for await (const click of client.clicks.export({ period, ...link }))
        terminal.printJson(click);
    });
}

async function printDays(
  client: Client,
  terminal: Terminal,
  id: string | undefined,
  { period, timezone, json }: Asked,
): Promise<void> {
  const query = { period, ...present({ timezone }) };
  const report =
    id === undefined
      ? await client.analytics.account(query)
      : await client.analytics.summary(id, query);
  if (json) return terminal.printJson(report);
  const days = report.clicks_over_time;
  const most = Math.max(0, ...days.map(({ clicks }) => clicks));
  terminal.printTable(
    ["day", "clicks", "unique", ""],
    days.map(({ date, clicks, unique }) => [date, clicks, unique, terminal.bar(clicks, most)]),
  );
  const { total_clicks, unique_clicks } = report.summary;
  terminal.say(`${total_clicks} clicks, ${unique_clicks} unique.`);
}

async function printBreakdown(
  client: Client,
  terminal: Terminal,
  id: string | undefined,
  by: string,
  { period, timezone, json }: Asked,
): Promise<void> {
  const query = { by, period, limit: ROWS, ...present({ timezone }) };
  const report =
    id === undefined
      ? await client.analytics.accountBreakdown(query)
      : await client.analytics.breakdown(id, query);
  if (json) return terminal.printJson(report);
  const most = Math.max(0, ...report.data.map(({ clicks }) => clicks));
  terminal.printTable(
    [by, "clicks", "%", ""],
    report.data.map((row) => [
      nameOf(row),
      row.clicks,
      row.percentage,
      terminal.bar(row.clicks, most),
    ]),
  );
}

type Row = { values: Record<string, string>; link?: { short_url: string | null } };

/** The values of the dimensions in a row of a breakdown; a link by its short URL. */
const nameOf = ({ values, link }: Row): string =>
  link?.short_url ?? Object.values(values).join(" · ");
