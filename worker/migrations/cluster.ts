/**
 * Converts the schema of a single server to that of a cluster. Each table becomes a replicated
 * table `<name>_local` on every shard, and a distributed table under its own name, which workers
 * and API use. All clicks of a link are on one shard, which can therefore count its distinct
 * visitors. Tables that store nothing (`Null`) are on every server under their own name, and
 * convert inserts on that server.
 */

type Groups = Record<string, string>;
type Convert = (groups: Groups, on: string, cluster: string) => string[];

/** Replaces distributed tables by the local ones of a shard. */
const readLocalTables = (text: string): string =>
  text.replaceAll(/\bFROM (clicks\w*)\b/g, (_, table: string) => `FROM ${table}_local`);

/** Each form of statement in the migrations, and its conversion. */
const FORMS: readonly [form: RegExp, convert: Convert][] = [
  [
    /^CREATE TABLE IF NOT EXISTS (?<table>\w+) \((?<columns>.*)\) ENGINE = Null$/s,
    ({ table, columns }, on) => [
      `CREATE TABLE IF NOT EXISTS ${table} ${on} (${columns}) ENGINE = Null`,
    ],
  ],
  [
    /^CREATE TABLE IF NOT EXISTS (?<table>\w+) \((?<columns>.*)\) ENGINE = (?<engine>\w+)\n(?<rest>.*)$/s,
    ({ table, columns = "", engine, rest = "" }, on, cluster) => [
      `CREATE TABLE IF NOT EXISTS ${table}_local ${on} (${columns}) ` +
        `ENGINE = Replicated${engine}('/clickhouse/tables/{shard}/{database}/${table}', '{replica}')\n` +
        rest.replace(
          "non_replicated_deduplication_window = 10000",
          "replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800",
        ),
      `CREATE TABLE IF NOT EXISTS ${table} ${on} AS ${table}_local\n` +
        `ENGINE = Distributed('${cluster}', currentDatabase(), ${table}_local, ${columns.includes("link_id") ? "cityHash64(link_id)" : "rand()"})`,
    ],
  ],
  [
    // Rows inserted on any server go to the shard of their link.
    /^CREATE MATERIALIZED VIEW IF NOT EXISTS (?<view>\w+) TO clicks AS\n(?<query>.*)$/s,
    ({ view, query }, on) => [
      `CREATE MATERIALIZED VIEW IF NOT EXISTS ${view} ${on} TO clicks AS\n${query}`,
    ],
  ],
  [
    /^CREATE MATERIALIZED VIEW IF NOT EXISTS (?<view>\w+) TO (?<target>\w+) AS\n(?<query>.*)$/s,
    ({ view, target = "", query = "" }, on) => [
      `CREATE MATERIALIZED VIEW IF NOT EXISTS ${view} ${on} TO ${target.startsWith("clicks") ? `${target}_local` : target} AS\n${readLocalTables(query)}`,
    ],
  ],
];

/**
 * Returns the statements for an empty cluster with this name in ClickHouse's `remote_servers`, in
 * order. Throws when a statement has a form that is not supported.
 */
export function clusterSchema(statements: readonly string[], name: string): string[] {
  return statements.flatMap((commented) => {
    const statement = commented.replaceAll(/^--.*\n/gm, "").trim();
    for (const [form, convert] of FORMS) {
      const match = form.exec(statement);
      if (match !== null) return convert(match.groups ?? {}, `ON CLUSTER '${name}'`, name);
    }
    throw new Error(`Cannot convert for a cluster: ${statement.slice(0, 80)}`);
  });
}
