/**
 * The ClickHouse engine as a library. Each statement gets its own connection: settings and
 * parameters stay on a chDB connection and must not leak into the next statement. Opening one takes
 * about a millisecond, which is acceptable for a local stack.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { Session } from "chdb";

import { FairQueue } from "../../../shared/fair-queue.ts";

/** Concurrent and queued statements: enough for two cores and a local stack. */
const RUNNING_MAX = 4;
const WAITING_MAX = 256;

/** Maximum bytes of a statement with its rows: a hundred times a worker's largest insert. */
export const STATEMENT_BYTES_MAX = 64 * 1024 * 1024;

/** The longest text of a statement, as ClickHouse has it unless a setting says otherwise. */
const TEXT_BYTES_MAX = 262_144;

/** Statement timeout; the longest statements are rollup rebuilds started by an operator. */
const STATEMENT_SECONDS_MAX = 3_600;

export type Statement = {
  sql: string;
  /** What follows it, as UTF-8: the rows of an insert, or the rest of its text; may be empty. */
  data: Buffer;
  /** Result format if the statement names none. */
  format: string;
  database: string | undefined;
  settings: [string, string][];
  /** Values of `{name: Type}` in the statement, in ClickHouse's escaped text form. */
  parameters: [string, string][];
};

type Result = { bytes: Uint8Array; elapsedSeconds: number };

export class Engine {
  readonly #open: () => Session;
  /** Keeps the engine loaded between statements. */
  readonly #keeper: Session;
  readonly #queue = new FairQueue("the local ClickHouse", {
    running: RUNNING_MAX,
    runningEach: RUNNING_MAX,
    waiting: WAITING_MAX,
    waitingEach: WAITING_MAX,
  });
  readonly #running = new Set<Promise<unknown>>();

  /** Throws if another process has the directory open. Arguments come from {@link configure}. */
  constructor(dataDir: string, connectionArgs: string[]) {
    this.#open = () => new Session(dataDir, { connectionArgs });
    this.#keeper = this.#open();
  }

  /** Runs one statement; rejects with ClickHouse's error message, or with `QueueFull`. */
  async run(statement: Statement): Promise<Result> {
    const running = this.#queue.run("", () => this.#runAlone(statement));
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /**
   * Waits for a turn, and returns the result of one statement in blocks, as the engine finds them:
   * a long result is never in memory at once, which would take the engine longer than to find it.
   * The turn ends with the blocks, so a caller must read the first.
   */
  async stream(statement: Statement): Promise<AsyncGenerator<Uint8Array, undefined>> {
    const ended = Promise.withResolvers<void>();
    await this.#startUntil(ended.promise);
    return this.#readBlocks(statement, ended.resolve);
  }

  async *#readBlocks(
    statement: Statement,
    onEnd: () => void,
  ): AsyncGenerator<Uint8Array, undefined> {
    try {
      const session = this.#open();
      try {
        await prepare(session, statement);
        const { sql, format } = statement;
        for await (const block of session.queryStream(sql, { format })) yield block.raw();
      } finally {
        session.close();
      }
    } finally {
      onEnd();
    }
    return undefined;
  }

  /** Takes a turn, and keeps it until the work has ended. */
  async #startUntil(ended: Promise<void>): Promise<void> {
    const started = Promise.withResolvers<void>();
    const turn = this.#queue.run("", async () => {
      started.resolve();
      await ended;
    });
    this.#running.add(turn);
    turn.catch(started.reject).finally(() => this.#running.delete(turn));
    await started.promise;
  }

  /** Waits for the running statements, then closes the tables. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#running);
    this.#keeper.close();
  }

  async #runAlone(statement: Statement): Promise<Result> {
    const { sql, data, format } = statement;
    const session = this.#open();
    try {
      await prepare(session, statement);
      const insert = data.length === 0 ? undefined : parsePlainInsert(sql);
      // The rows stay bytes: as part of a statement's text, each of them would be copied four
      // times.
      if (insert !== undefined) {
        const { elapsed } = await session.insert({ ...insert, values: data });
        return { bytes: new Uint8Array(), elapsedSeconds: elapsed };
      }
      const text = data.length === 0 ? sql : `${sql}\n${data.toString()}`;
      const result = await session.queryAsync(text, { format });
      return { bytes: result.bytes(), elapsedSeconds: result.elapsed };
    } finally {
      session.close();
    }
  }
}

async function prepare(
  session: Session,
  { database, settings, parameters }: Statement,
): Promise<void> {
  if (database !== undefined) await session.queryAsync(`USE ${quoteIdentifier(database)}`);
  const set = [
    // The profile allows more, for this one.
    assignment(["max_query_size", String(TEXT_BYTES_MAX)]),
    ...settings.map(assignment),
    ...parameters.map(([name, value]) => assignment([`param_${name}`, value])),
  ];
  await session.queryAsync(`SET ${set.join(", ")}`);
}

const assignment = ([name, value]: [string, string]): string =>
  `${quoteIdentifier(name)} = ${quoteString(value)}`;

const quoteIdentifier = (name: string): string =>
  `\`${name.replaceAll("\\", "\\\\").replaceAll("`", "\\`")}\``;

const quoteString = (text: string): string =>
  `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

type InsertFormat = "JSONEachRow" | "JSONCompactEachRow" | "TabSeparated";

const FORMATS: readonly InsertFormat[] = ["JSONEachRow", "JSONCompactEachRow", "TabSeparated"];

const PLAIN_INSERT =
  /^INSERT INTO (?:TABLE )?(?<table>[\w.]{1,200})\s?(?:\((?<columns>[\w, ]{0,10000})\))?\s?FORMAT (?<format>\w+)$/i;

/** Parses an insert of which the rest is rows; undefined for any other statement. */
function parsePlainInsert(sql: string) {
  const { table = "", columns, format = "" } = PLAIN_INSERT.exec(sql.trim())?.groups ?? {};
  const known = FORMATS.find((name) => name.toLowerCase() === format.toLowerCase());
  if (known === undefined) return undefined;
  return {
    table,
    format: known,
    ...(columns === undefined ? {} : { columns: columns.split(",").map((name) => name.trim()) }),
  };
}

/**
 * Grants for what the product and its tests do. None of them covers a source: a file, a URL,
 * another server or a program. The function `file` and `INTO OUTFILE` need no grant in the library,
 * so a statement can still reach the files of its user.
 */
const GRANTS = [
  "GRANT SELECT, INSERT, SHOW, CREATE DATABASE, CREATE TABLE, CREATE VIEW, DROP, TRUNCATE, OPTIMIZE ON *.*",
  `GRANT ALTER UPDATE, ALTER DELETE, ALTER COLUMN, ALTER INDEX, ALTER PROJECTION, ALTER ORDER BY,
   ALTER TTL, ALTER MATERIALIZE TTL, ALTER SETTINGS ON *.*`,
];

/** Writes the engine's configuration into `dir`; returns connection arguments that load it. */
export function configure(dir: string, grants: readonly string[] = GRANTS): string[] {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const users = join(dir, "users.xml");
  const config = join(dir, "config.xml");
  write(
    users,
    `<clickhouse>
  <profiles>
    <default>
      <max_execution_time>${STATEMENT_SECONDS_MAX}</max_execution_time>
      <!-- Parameters, which ClickHouse's own interface takes beside a statement, are set by one. -->
      <max_query_size>${STATEMENT_BYTES_MAX}</max_query_size>
      <!-- Local files are in the page cache: handing each read to another thread costs more than the read. -->
      <local_filesystem_read_method>pread</local_filesystem_read_method>
    </default>
  </profiles>
  <quotas><default/></quotas>
  <users>
    <default>
      <!-- Only for the library's own connections: the gateway authenticates clients. -->
      <password></password>
      <networks><ip>127.0.0.1</ip><ip>::1</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
      <grants>${grants.map((grant) => `<query>${grant}</query>`).join("")}</grants>
    </default>
  </users>
</clickhouse>
`,
  );
  write(config, `<clickhouse><users_config>${escapeXml(users)}</users_config></clickhouse>\n`);
  return [`--config-file=${config}`];
}

const write = (path: string, text: string): void => writeFileSync(path, text, { mode: 0o600 });

const escapeXml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
