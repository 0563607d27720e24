/**
 * `shorthop import …`: takes links over from another product, and its visits as clicks. What is
 * needed to read the source, such as a password, is in memory only.
 */
import type { Command } from "commander";
import type { NatsConnection } from "nats";
import * as z from "zod";

import { DomainService } from "../../api/domains/service.ts";
import { Bitly } from "../../api/imports/bitly.ts";
import { SegmentPublisher } from "../../api/imports/clicks.ts";
import { ImportCounters } from "../../api/imports/counters.ts";
import { CsvFile } from "../../api/imports/csv.ts";
import { Dub } from "../../api/imports/dub.ts";
import { Kutt } from "../../api/imports/kutt.ts";
import { type ImportObserver, ImportRun, type LinkReport } from "../../api/imports/pipeline.ts";
import { Rebrandly } from "../../api/imports/rebrandly.ts";
import {
  type ImportRow,
  ImportService,
  ImportUndo,
  type Undone,
} from "../../api/imports/service.ts";
import { Shlink } from "../../api/imports/shlink.ts";
import { ShortIo } from "../../api/imports/short-io.ts";
import { Shorthop } from "../../api/imports/shorthop.ts";
import type { Source } from "../../api/imports/source.ts";
import { Yourls } from "../../api/imports/yourls.ts";
import type { LinksPublisher } from "../../api/links-log/publisher.ts";
import { LinkChanges } from "../../api/links/change-links.ts";
import { type DestinationRules, requireDestination } from "../../api/links/destinations.ts";
import { HostLists, hostListVariables } from "../../api/links/host-lists.ts";
import { LinkImports } from "../../api/links/import-links.ts";
import { LinkPreparation } from "../../api/links/prepare-link.ts";
import { PasswordHashing } from "../../api/passwords/hashing.ts";
import type { Sql } from "../../api/postgres.ts";
import { waitUntilPublished } from "../../api/takedowns/service.ts";
import type { ClickHouse } from "../../shared/clicks/query.ts";
import { envBoolean, envHosts, envUrl, loadConfig } from "../../shared/env.ts";
import { ownHosts } from "../../shared/hosts.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { processLog } from "../../shared/log.ts";
import { parseHost, parseId } from "../arguments.ts";
import type { Installation } from "../installation.ts";
import { ask, mustExist, print, runOnDatabase } from "../output.ts";

/** How often progress is printed on a terminal. */
const PROGRESS_MS = 1_000;

type Common = { json: boolean; report?: string };

type Begun = Common & {
  account?: Uuid;
  domain?: string;
  test: boolean;
  dryRun: boolean;
} & Record<string, unknown>;

export function addImportCommands(program: Command, installation: Installation): void {
  const imports = program
    .command("import")
    .description("Take links over from another product, with their visits");
  for (const kind of SOURCES) addSource(imports, installation, kind);
  addUndo(imports, installation);

  const list = imports.command("list").description("List all imports");
  runOnDatabase(installation, list, async (sql) => {
    const rows = await new ImportService(sql).list();
    return rows.map(describe);
  });

  imports
    .command("resume")
    .description("Go on with an import that did not end")
    .argument("<id>", "the import (imp_…)", parseId("imp"))
    .argument("[location]", "the source, as it was given (default: asked for)")
    .option("--report <file>", "write what became of each link, a line of JSON each")
    .option("--json", "print JSON", false)
    .action((id: Uuid, given: string | undefined, options: Common) =>
      withImporter(installation, async (importer) => {
        const row = await importer.imports.find(id);
        mustExist(row !== undefined, "import");
        const kind = SOURCES.find(({ name }) => name === row.source);
        if (kind === undefined) throw new Error(`There is no source ${row.source}.`);
        const location = await complete(given ?? (await ask(`${kind.location}: `)), installation);
        if (kind.identify(location, row.options) !== row.identity)
          throw new Error(`This import is of ${row.identity}.`);
        await using source = await openSource(kind, location, row.options, installation);
        await importer.run(row, source, options);
        await installation.recordCommand("import resume", { import: encodeId("imp", id) });
      }),
    );
}

function addUndo(imports: Command, installation: Installation): void {
  imports
    .command("undo")
    .description(
      "Take an import back: links that it created, unless they were changed since, and all clicks of it",
    )
    .argument("<id>", "the import (imp_…)", parseId("imp"))
    .option("--json", "print JSON", false)
    .action((id: Uuid, { json }: Common) =>
      withImporter(installation, async (importer) => {
        const row = await importer.imports.find(id);
        mustExist(row !== undefined && row.state !== "undone", "import");
        // Only the owner of the tables may delete from them.
        const undone = await installation
          .asOwner()
          .withClickHouse((clickhouse) => importer.undo(row, clickhouse));
        await installation.recordCommand("import undo", { import: encodeId("imp", id) });
        print(json, { ...describe({ ...row, state: "undone" }), ...undone });
      }),
    );
}

function addSource(imports: Command, installation: Installation, kind: SourceKind): void {
  const command = imports
    .command(kind.name)
    .description(kind.description)
    .argument("<location>", kind.location)
    .option(
      "--account <id>",
      "the account that gets them (acct_…; default: the only one)",
      parseId("acct"),
    )
    .option(
      "--domain <host>",
      "a verified domain of the account, for all links (default: as in the source, else the service's own)",
      parseHost,
    )
    .option("--test", "as links of the test mode", false)
    .option("--dry-run", "only say what would become of each link", false)
    .option("--report <file>", "write what became of each link, a line of JSON each")
    .option("--json", "print JSON", false);
  for (const [flags, description] of kind.options) command.option(flags, description);
  command.action((given: string, options: Begun) =>
    withImporter(installation, async (importer) => {
      const location = await complete(given, installation);
      const own = readOptions(command, kind, options);
      const identity = kind.identify(location, own);
      const mode = options.test ? ("test" as const) : ("live" as const);
      const owner = { accountId: await importer.imports.findAccount(options.account), mode };
      await using source = await openSource(kind, location, own, installation);
      if (options.dryRun) {
        const row = await importer.imports.preview(owner, kind.name, identity, own);
        return await importer.check(row, source, options);
      }
      const row = await importer.imports.begin(owner, kind.name, identity, own);
      await importer.run(row, source, options);
      await installation.recordCommand(`import ${kind.name}`, { import: encodeId("imp", row.id) });
    }),
  );
}

/** The options of a source that were given, and the domain. */
function readOptions(command: Command, kind: SourceKind, given: Begun): SourceSettings {
  const names = kind.options.map(([flags]) => command.createOption(flags).attributeName());
  return Object.fromEntries(
    ["domain", ...names].flatMap((name) => {
      const value = given[name];
      return typeof value === "string" ? [[name, value]] : [];
    }),
  );
}

/** A URL with a user and without a password gets it from the environment, or from the terminal. */
async function complete(location: string, { env }: Installation): Promise<string> {
  const url = URL.parse(location);
  if (url === null || url.username === "" || url.password !== "") return location;
  url.password = encodeURIComponent(env["SOURCE_PASSWORD"] ?? (await ask("Password: ")));
  return url.href;
}

/** Opens a source with its secret, of the environment or from the terminal. */
async function openSource(
  kind: SourceKind,
  location: string,
  options: SourceSettings,
  { env }: Installation,
): Promise<Source> {
  const { secret } = kind;
  const given = secret === undefined ? "" : (env["SOURCE_PASSWORD"] ?? (await ask(`${secret}: `)));
  return kind.open(location, options, given);
}

/** Processes of the API publish what is in the outbox. */
const OUTBOX: LinksPublisher = { publish: () => Promise.resolve(false) };

class Importer {
  readonly imports: ImportService;
  readonly #sql: Sql;
  readonly #links: LinkImports;
  readonly #changes: LinkChanges;
  readonly #publisher: SegmentPublisher;
  readonly #clickhouse: ClickHouse;
  readonly #signal: AbortSignal;

  constructor(
    sql: Sql,
    clickhouse: ClickHouse,
    rules: DestinationRules,
    nats: NatsConnection,
    signal: AbortSignal,
  ) {
    const domains: DomainService = new DomainService(
      sql,
      OUTBOX,
      () => Promise.resolve([]),
      rules.ownHosts,
      async (url) => (await requireDestination(url, rules, domains)).original,
    );
    const preparation = new LinkPreparation(domains, rules, new PasswordHashing());
    this.imports = new ImportService(sql);
    this.#sql = sql;
    this.#links = new LinkImports(sql, preparation, rules);
    this.#changes = new LinkChanges(sql, OUTBOX, preparation, rules.shortUrl.origin);
    this.#publisher = new SegmentPublisher(nats, signal);
    this.#clickhouse = clickhouse;
    this.#signal = signal;
  }

  /** Runs an import until it is done, and prints what it did. */
  async run(row: ImportRow, source: Source, options: Common): Promise<void> {
    await using output = new ImportOutput(options.report);
    const run = this.#open(output);
    const id = encodeId("imp", row.id);
    const done = await run.run(row, source, this.#signal).catch((error: unknown) => {
      console.error(`It did not end: shorthop import resume ${id}`);
      throw error;
    });
    print(options.json, { ...describe(done), published: await waitUntilPublished(this.#sql) });
  }

  #open(output: ImportObserver): ImportRun {
    const counters = new ImportCounters(this.#sql, this.#clickhouse);
    return new ImportRun(this.#sql, this.#links, this.#publisher, counters, output);
  }

  undo(row: ImportRow, clickhouse: ClickHouse): Promise<Undone> {
    return new ImportUndo(this.#sql, clickhouse, this.#changes, this.#publisher).undo(row);
  }

  /** Prints what an import would do. */
  async check(row: ImportRow, source: Source, options: Common): Promise<void> {
    await using output = new ImportOutput(options.report);
    const run = this.#open(output);
    await run.check(row, source, this.#signal);
    const { created, same, taken, refused } = row;
    const counts = { created, same, taken, refused };
    print(options.json, { dry_run: true, ...(row.state === "links" ? counts : describe(row)) });
  }
}

/** Writes the report of an import, and its progress on a terminal. */
class ImportOutput implements ImportObserver, AsyncDisposable {
  readonly #report: Bun.FileSink | undefined;
  #printedAt = -Infinity;

  constructor(report: string | undefined) {
    this.#report = report === undefined ? undefined : Bun.file(report).writer();
  }

  noteLinks(reports: readonly LinkReport[]): void {
    for (const { link, outcome } of reports) {
      const { id: source_id, alias, url, left } = link;
      const { outcome: became, ...rest } = outcome;
      const detail = "id" in rest ? { id: encodeId("link", rest.id) } : rest;
      void this.#report?.write(
        `${JSON.stringify({ source_id, alias, url, outcome: became, ...detail, ...(left === undefined ? {} : { left }) })}\n`,
      );
    }
  }

  noteProgress(row: ImportRow): void {
    if (!process.stderr.isTTY || performance.now() - this.#printedAt < PROGRESS_MS) return;
    this.#printedAt = performance.now();
    const { created, same, taken, refused, visits } = row;
    process.stderr.write(
      `\r${created} new links, ${same} the same, ${taken} taken, ${refused} refused, ${visits} visits `,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (process.stderr.isTTY && this.#printedAt !== -Infinity) process.stderr.write("\n");
    await this.#report?.end();
  }
}

const describe = (row: ImportRow): Record<string, unknown> => ({
  id: encodeId("imp", row.id),
  account: encodeId("acct", row.account_id),
  mode: row.mode,
  source: row.source,
  of: row.identity,
  state: row.state,
  created: row.created,
  same: row.same,
  taken: row.taken,
  refused: row.refused,
  visits: row.visits,
  left_out: row.left_out,
  begun_at: row.created_at.toISOString(),
});

/** Runs `work` on the stores; an interrupt ends an import after what it has begun. */
async function withImporter(
  installation: Installation,
  work: (importer: Importer) => Promise<void>,
): Promise<void> {
  const stopping = new AbortController();
  const stop = () => stopping.abort(new Error("Interrupted."));
  process.once("SIGINT", stop);
  try {
    const rules = await readRules(installation);
    const { signal } = stopping;
    await installation.withPool((sql) =>
      installation.withNats((nats) =>
        installation.withClickHouse((clickhouse) =>
          work(new Importer(sql, clickhouse, rules, nats, signal)),
        ),
      ),
    );
  } finally {
    process.off("SIGINT", stop);
  }
}

/** The rules of the API for destinations. */
async function readRules(installation: Installation): Promise<DestinationRules> {
  const { url, variables } = await installation.findSource("SHORT_URL");
  const schema = z.object({
    SHORT_URL: envUrl(["http", "https"]),
    SHORT_HOSTS: envHosts(),
    ALLOW_PRIVATE_TARGETS: envBoolean(false),
    ...hostListVariables,
  });
  const config = loadConfig(schema, { ...variables, SHORT_URL: url });
  const lists = new HostLists(config, processLog("shorthop", "warn"));
  await lists.refresh();
  return {
    lists,
    allowPrivate: config.ALLOW_PRIVATE_TARGETS,
    shortUrl: new URL(config.SHORT_URL),
    ownHosts: ownHosts(config.SHORT_URL, config.SHORT_HOSTS),
  };
}

/** How a source is read, without credentials, by the name of its option. */
type SourceSettings = Readonly<Record<string, string>>;

type SourceKind = {
  /** The name of its command. */
  name: string;
  description: string;
  /** Its URL, or another name of an account of it. */
  location: string;
  /** The name of the secret of its API, which is never an argument. */
  secret?: string;
  /** The flags of its options, with their descriptions. */
  options: readonly (readonly [flags: string, description: string])[];
  /** Names what is imported, without credentials. Throws for an invalid location. */
  identify(location: string, options: SourceSettings): string;
  open(location: string, options: SourceSettings, secret: string): Source;
};

export const SOURCES: readonly SourceKind[] = [
  {
    name: "yourls",
    description: "Import links and visits of YOURLS, from its MariaDB or MySQL",
    location: "mysql://USER@HOST/DATABASE; the password may be in SOURCE_PASSWORD",
    options: [
      ["--prefix <prefix>", "the prefix of its tables (default: yourls_)"],
      [
        "--time-zone <zone>",
        "the zone of its times (default: UTC, as YOURLS writes them since 1.7.3)",
      ],
    ],
    identify: (url, { prefix }) => Yourls.identify(url, prefix),
    open: (url, { prefix, timeZone }) => new Yourls(url, prefix, timeZone),
  },
  {
    name: "shlink",
    description: "Import links and visits of Shlink, by version 3 of its API",
    location: "the URL of the installation, such as https://s.example.com",
    secret: "API key",
    options: [],
    identify: Shlink.identify,
    open: (url, _, key) => Shlink.open(url, key),
  },
  {
    name: "kutt",
    description: "Import links and visits of Kutt, from its PostgreSQL, MySQL or SQLite",
    location:
      "postgres://USER@HOST/DATABASE, mysql://USER@HOST/DATABASE or sqlite:PATH; the password may be in SOURCE_PASSWORD",
    options: [
      ["--time-zone <zone>", "the zone of the server, which MySQL's times are in (default: UTC)"],
    ],
    identify: Kutt.identify,
    open: (url, { timeZone }) => new Kutt(url, timeZone),
  },
  {
    name: "dub",
    description: "Import links and visits of Dub, by its API",
    location: "the workspace of the key, such as acme",
    secret: "API key",
    options: [["--since <date>", "the first day of visits, if the plan has none before it"]],
    identify: Dub.identify,
    open: (_, { since }, key) => Dub.open(key, since),
  },
  {
    name: "bitly",
    description: "Import links and clicks by day of Bitly, by version 4 of its API",
    location: "a group, such as Bk1a2b3c4d5",
    secret: "Access token",
    options: [],
    identify: Bitly.identify,
    open: (group, _, token) => Bitly.open(group, token),
  },
  {
    name: "rebrandly",
    description: "Import links of Rebrandly, by its API",
    location: "the id of a workspace",
    secret: "API key",
    options: [],
    identify: Rebrandly.identify,
    open: (workspace, _, key) => Rebrandly.open(workspace, key),
  },
  {
    name: "short-io",
    description: "Import links of Short.io, by its API",
    location: "a domain there, such as go.example.com",
    secret: "Secret API key",
    options: [],
    identify: ShortIo.identify,
    open: (host, _, key) => ShortIo.open(host, key),
  },
  {
    name: "csv",
    description: "Import links of a CSV file, as other products and the dashboard export it",
    location: "the file",
    options: [
      ["--columns <list>", "what columns become, such as: Long URL=url,Code=alias,Comment=-"],
      ["--date-order <order>", "what comes first in dates such as 03/04/2030: day or month"],
    ],
    identify: CsvFile.identify,
    open: (path, { columns, dateOrder }) => new CsvFile(path, { columns, dateOrder }),
  },
  {
    name: "shorthop",
    description: "Import links and clicks of an account of another installation, by its API",
    location: "the URL of its API, such as https://api.example.com",
    secret: "API key",
    options: [],
    identify: Shorthop.identify,
    open: (url, _, key) => Shorthop.open(url, key),
  },
];
