/** `shorthop links list|get|edit|rm|open|import`. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";

import type { Command } from "commander";

import {
  LinkTable,
  type TableLink,
  type TableReading,
} from "../../../shared/link-csv/link-table.ts";
import type { Client, Link, LinkChange, NewLink } from "../../typescript/src/index.ts";
import type { Settings } from "./settings.ts";
import { collect, present } from "./shorten.ts";
import type { Terminal } from "./terminal.ts";

/** Links of `list` where no limit is given. */
const LISTED = 20;

/** Of a file, what is created in one call, whose result is printed before the next. */
const IMPORTED_AT_ONCE = 1_000;

const LINK_ARGUMENT = "the link: its id, alias or short URL";

/** Options of `edit` that are the names of fields. */
const FIELDS = ["url", "alias", "title", "notes"] as const;

export function addLinkCommands(program: Command, settings: Settings, terminal: Terminal): void {
  const links = program.command("links").description("Your links");
  addListCommand(links, settings, terminal);
  addEditCommand(links, settings, terminal);
  addImportCommand(links, settings, terminal);

  links
    .command("get")
    .description("Show a link with all its settings")
    .argument("<link>", LINK_ARGUMENT)
    .option("--json", "print JSON", false)
    .action(async (given: string, { json }: { json: boolean }) => {
      const client = settings.client();
      const link = await client.links.get(await findId(client, given), { include: "settings" });
      if (json) return terminal.printJson(link);
      const set = Object.entries(link).filter(([, value]) => value !== null && value !== undefined);
      terminal.printTable(
        ["field", "value"],
        set.map(([name, value]) => [name, textOf(value)]),
      );
    });

  links
    .command("rm")
    .description("Delete links for good")
    .argument("<links...>", LINK_ARGUMENT)
    .option("--yes", "do not ask", false)
    .action(async (given: string[], { yes }: { yes: boolean }) => {
      const client = settings.client();
      const ids: string[] = [];
      for (const each of given) ids.push(await findId(client, each));
      const question = `Delete ${ids.length === 1 ? "this link" : `these ${ids.length} links`} for good? [y/N] `;
      if (!yes && !/^y(es)?$/i.test(await terminal.ask(question)))
        throw new Error("Nothing deleted.");
      const { data, deleted } = await client.links.deleteMany(ids);
      for (const item of data) if ("error" in item) fail(terminal, given[item.index], item.error);
      terminal.say(`Deleted ${deleted}.`);
    });

  links
    .command("open")
    .description("Open a link's destination in the browser; no click is counted")
    .argument("<link>", LINK_ARGUMENT)
    .action(async (given: string) => {
      const client = settings.client();
      const { original_url: url } = await client.links.get(await findId(client, given));
      terminal.print(url);
      if (terminal.isForPeople) openUrl(url);
    });
}

function addListCommand(links: Command, settings: Settings, terminal: Terminal): void {
  links
    .command("list")
    .description("List links, the newest first")
    .option("--search <text>", "links whose alias, title or destination contains it")
    .option("--tag <tag>", "links with this tag")
    .option("--limit <count>", "how many; 0 for all", Number, LISTED)
    .option("--json", "print each link as a line of JSON", false)
    .action(
      async ({
        search,
        tag,
        limit,
        json,
      }: Record<"search" | "tag", string | undefined> & { limit: number; json: boolean }) => {
        const client = settings.client();
        const query = present({ search, tag });
        const rows: (string | number)[][] = [];
        let count = 0;
        for await (const link of client.links.all(query)) {
          if (limit > 0 && count++ >= limit) break;
          if (json) terminal.printJson(link);
          else
            rows.push([
              link.short_url,
              link.clicks,
              (link.tags ?? []).join(","),
              link.title ?? link.original_url,
            ]);
        }
        if (!json) terminal.printTable(["short URL", "clicks", "tags", "title"], rows);
      },
    );
}

function addEditCommand(links: Command, settings: Settings, terminal: Terminal): void {
  const edit = links
    .command("edit")
    .description("Change a link; an empty text clears a field")
    .argument("<link>", LINK_ARGUMENT);
  for (const field of FIELDS) edit.option(`--${field} <text>`, `its new ${field}`);
  edit
    .option("--tag <tag>", "its tags from now on; repeat it for more", collect, [])
    .option("--expires <instant>", "when it ends, such as 2027-01-31T12:00:00Z")
    .option("--json", "print JSON", false)
    .action(async (given: string, options: Record<string, unknown> & { tag: string[] }) => {
      const change = changeOf(options);
      if (Object.keys(change).length === 0) throw new Error("Say what to change: see --help.");
      const client = settings.client();
      const link = await client.links.update(await findId(client, given), change);
      if (options["json"] === true) terminal.printJson(link);
      else terminal.print(link.short_url);
    });
}

function changeOf({
  tag,
  expires,
  ...others
}: Record<string, unknown> & { tag: string[] }): LinkChange {
  const texts = FIELDS.flatMap((field) => {
    const text = others[field];
    return typeof text === "string" ? [[field, text === "" ? null : text]] : [];
  });
  return {
    ...Object.fromEntries(texts),
    ...(tag.length === 0 ? {} : { tags: tag.filter((each) => each !== "") }),
    ...(typeof expires === "string" ? { expires_at: expires === "" ? null : expires } : {}),
  };
}

/** Options of `import`. */
type ImportFlags = TableReading & { domain?: string; check: boolean; json: boolean };

function addImportCommand(links: Command, settings: Settings, terminal: Terminal): void {
  links
    .command("import")
    .description(
      "Create links from a CSV file: an export of Bitly, Dub, Rebrandly, Short.io, Shlink, Kutt, YOURLS or Shorthop, or any other",
    )
    .argument("<file>", "the file; - for standard input")
    .option("--columns <list>", "what columns become, such as: Long URL=url,Code=alias,Comment=-")
    .option("--date-order <order>", "what comes first in dates such as 03/04/2030: day or month")
    .option(
      "--domain <host>",
      "a custom domain for all links (default: as in the file, else the service's own)",
    )
    .option("--check", "say what would be wrong, and create nothing", false)
    .option("--json", "print what became of each link as a line of JSON", false)
    .action(async (file: string, options: ImportFlags) => {
      const { check, json } = options;
      const client = settings.client();
      const name = file === "-" ? "standard input" : file;
      const bytes = readFileSync(file === "-" ? 0 : file);
      const table = new LinkTable(name, bytes, "custom", options);
      const domains = await listDomains(client, options);
      let [done, all] = [0, 0];
      for (let from = 0; from < table.rows; from += IMPORTED_AT_ONCE) {
        const part = table.links(from, from + IMPORTED_AT_ONCE);
        const items = await importLinks(client, part, domains, check);
        for (const [i, item] of items.entries()) {
          const row = part[i]?.row ?? 0;
          if (json) terminal.printJson({ row, ...item });
          if ("error" in item) fail(terminal, `line ${row}`, item.error);
          else done++;
          if (!json && "link" in item)
            terminal.print(`${item.link.short_url}\t${item.link.original_url}`);
        }
        all += part.length;
      }
      terminal.say(`${check ? "Right" : "Created"}: ${done} of ${all}.`);
    });
}

/** Which domain a link gets that has one in the file: another is the service's own. */
type DomainOf = (host: string | undefined) => string | undefined;

async function listDomains(client: Client, { domain }: ImportFlags): Promise<DomainOf> {
  if (domain !== undefined) return () => domain;
  const verified = new Set<string>();
  for await (const each of client.domains.all())
    if (each.status === "verified") verified.add(each.domain);
  return (host) => (host !== undefined && verified.has(host) ? host : undefined);
}

/** Creates links, or checks them; says of each what became of it, in their order. */
async function importLinks(
  client: Client,
  links: readonly TableLink[],
  domainOf: DomainOf,
  isCheck: boolean,
): Promise<Imported[]> {
  const items = links.map((link): Imported => {
    const refused = link.refused ?? (link.isLocked ? "The file lacks its password." : undefined);
    return refused === undefined ? {} : { error: { message: refused } };
  });
  const sent = [...links.keys()].filter((i) => items[i]?.error === undefined);
  const given = sent.flatMap((i) => links[i] ?? []).map((link) => toNewLink(link, domainOf));
  if (given.length === 0) return items;
  const { data } = isCheck
    ? await client.links.checkMany(given)
    : await client.links.createMany(given);
  for (const { index, ...item } of data) items[sent[index] ?? 0] = item;
  return items;
}

/** What became of a link, or what would. */
type Imported = { valid?: true; link?: Link; error?: { message: string } };

const toNewLink = ({ settings, alias, host, nth }: TableLink, domainOf: DomainOf): NewLink => ({
  ...settings,
  ...present({ alias, domain: domainOf(host) }),
  // Only one link of a row can have an external id.
  ...(nth === 0 ? {} : { external_id: null }),
});

/** The id of a link that is given by its id, alias or short URL. */
export async function findId(client: Client, given: string): Promise<string> {
  if (given.startsWith("link_")) return given;
  // A short URL without its scheme has a host before a slash; `v1.2/a` is an alias. A scheme is
  // only needed to parse it.
  const isUrl = given.includes("://") || /^[^/]+\.\p{L}[^/.]*\//u.test(given);
  const query = isUrl
    ? { short_url: given.includes("://") ? given : `https://${given}` }
    : { alias: given };
  return (await client.links.lookUp(query)).id;
}

function fail(terminal: Terminal, what: string | undefined, error: { message: string }): void {
  terminal.failed = true;
  terminal.say(`${what ?? ""}: ${error.message}`);
}

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);

/** Opens a URL with the program that the system has for it; a URL of http only. */
function openUrl(url: string): void {
  if (!/^https?:/.test(url)) return;
  const [program, ...options]: [string, ...string[]] =
    process.platform === "darwin"
      ? ["open"]
      : process.platform === "win32"
        ? ["rundll32", "url.dll,FileProtocolHandler"]
        : ["xdg-open"];
  spawn(program, [...options, url], { stdio: "ignore", detached: true })
    .on("error", () => undefined)
    .unref();
}
