/**
 * Rejects what the engine's grants do not cover: `INTO OUTFILE` and `FROM INFILE`, which chDB
 * handles on the client's side; the function `file()`, which needs no grant in the library; engines
 * that take a path without a grant, such as `EmbeddedRocksDB`; and table functions that touch a
 * file before their grant is checked.
 *
 * The statement is not parsed, because any difference between a parser of ours and the engine's
 * could be exploited. The check works on words: keywords and names have to appear literally in the
 * text, quoted or not, whatever comments and spaces surround them. The two ways to name something
 * without writing it, `\x` escapes and parameters of type `Identifier`, are rejected as well. A
 * forbidden word inside a string is rejected too: values belong in parameters.
 */
import { GatewayError } from "./errors.ts";
import type { Statement } from "./statement.ts";

/**
 * Table functions that generate their own rows, or read a subquery given in full. None that takes a
 * structure or data as text, such as `format` and `generateRandom`: an expression there (`DEFAULT`,
 * `Values`) may be assembled at run time, where no check of words finds it. `values` is also the
 * keyword of an insert; each of its columns needs a value, so that no expression of its structure
 * is evaluated.
 */
const SAFE_TABLE_FUNCTIONS = new Set([
  "generateSeries",
  "generate_series",
  "numbers",
  "numbers_mt",
  "values",
  "view",
  "zeros",
  "zeros_mt",
]);

/** Engines that store their data in the data directory, in memory, or not at all. */
const SAFE_ENGINES = new Set([
  "MergeTree",
  "AggregatingMergeTree",
  "ReplacingMergeTree",
  "SummingMergeTree",
  "Join",
  "Memory",
  "Null",
  "Atomic",
]);

/**
 * Rejected in any position: `file` is also a scalar function, and can be passed without a call;
 * `disk(type = local, path = …)` creates the directory before it is rejected.
 */
const FORBIDDEN_WORDS = new Set(["outfile", "infile", "file", "disk", "identifier"]);

/** Throws a 403 with the reason if the statement is not allowed. */
export type StatementCheck = (statement: Statement) => void;

/** Creates a check for an engine with these table functions (`system.table_functions`). */
export function createStatementCheck(tableFunctions: readonly string[]): StatementCheck {
  const sources = new Set(
    tableFunctions
      .filter((name) => !SAFE_TABLE_FUNCTIONS.has(name))
      .map((name) => name.toLowerCase()),
  );
  const check = (text: string): void => {
    // chDB's client sends text with these to a language model.
    if (text.includes("??")) throw denied("??");
    if (text.includes("\\x")) throw denied("\\x");
    for (const [, word = "", call] of text.matchAll(WORD)) {
      const name = word.toLowerCase();
      if (FORBIDDEN_WORDS.has(name) || (call !== undefined && sources.has(name)))
        throw denied(word);
    }
    for (const [clause, engine = ""] of text.matchAll(ENGINE_CLAUSE)) {
      if (!SAFE_ENGINES.has(engine)) throw denied(clause.trim());
    }
  };
  return ({ sql, data, settings }) => {
    check(parsePlainInsert(sql) === undefined ? `${sql}\n${data.toString()}` : sql);
    // A setting may hold an expression, such as additional_result_filter.
    for (const [, value] of settings) check(value);
  };
}

/**
 * A word, and what makes it a call: after a closing quote and anything that is not printable ASCII
 * (ClickHouse accepts Unicode spaces too), a parenthesis, or the start of a comment that may hide
 * one.
 */
const WORD = /(\w+)["`]?[^\x21-\x7e]*([(/#-])?/g;

/** The keyword and the name after it if that is written plainly; otherwise an empty name. */
const ENGINE_CLAUSE = /\bENGINE\b(?:\s{0,10}=)?\s{0,10}(\w*)/gi;

/** An insert of which the rest is pure data: text formats other than `Values` contain no SQL. */
type PlainInsert = { table: string; columns?: string[]; format: InsertFormat };

type InsertFormat = "JSONEachRow" | "JSONCompactEachRow" | "TabSeparated";

const PLAIN_INSERT =
  /^INSERT INTO (?:TABLE )?(?<table>[\w.]{1,200})\s?(?:\((?<columns>[\w, ]{0,10000})\))?\s?FORMAT (?<format>JSON(?:Compact)?EachRow|TabSeparated)$/i;

const FORMATS: readonly InsertFormat[] = ["JSONEachRow", "JSONCompactEachRow", "TabSeparated"];

/** Parses a statement; undefined when it is no plain insert. */
export function parsePlainInsert(sql: string): PlainInsert | undefined {
  const { table = "", columns, format = "" } = PLAIN_INSERT.exec(sql.trim())?.groups ?? {};
  const known = FORMATS.find((name) => name.toLowerCase() === format.toLowerCase());
  if (known === undefined) return undefined;
  return {
    table,
    format: known,
    ...(columns === undefined ? {} : { columns: columns.split(",").map((name) => name.trim()) }),
  };
}

const denied = (what: string) =>
  new GatewayError(
    403,
    `Code: 497. DB::Exception: The local ClickHouse does not allow ${what.slice(0, 80)}. (ACCESS_DENIED)`,
  );
