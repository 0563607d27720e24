/**
 * Converts the schema of a single server to that of a cluster. Each table becomes a replicated table `<name>_local` on
 * every shard, and a distributed table under its own name, which workers and API use. All clicks of a link are on
 * one shard, which can therefore count its distinct visitors.
 */

export type Cluster = {
  /** The name in ClickHouse's `remote_servers`. */
  name: string;
};

const CREATE_TABLE = /^CREATE TABLE IF NOT EXISTS (\w+) \((.*)\) ENGINE = (\w+)\n(.*)$/s;
const CREATE_VIEW = /^CREATE MATERIALIZED VIEW IF NOT EXISTS (\w+) TO (\w+) AS\n(.*)$/s;

/** Replaces distributed tables by the local ones of a shard. */
const readLocalTables = (text: string): string =>
  text.replaceAll(/\bFROM (clicks\w*)\b/g, (_, table: string) => `FROM ${table}_local`);

/**
 * Returns the statements for an empty cluster, in order. Statements that fill new tables from old ones are left out.
 * Throws when a statement has a form that is not supported.
 */
export function clusterSchema(statements: readonly string[], { name }: Cluster): string[] {
  return statements.flatMap((commented) => {
    const statement = commented.replaceAll(/^--.*\n/gm, "").trim();
    if (/^(?:TRUNCATE|INSERT) /.test(statement)) return [];
    const table = CREATE_TABLE.exec(statement);
    if (table !== null) {
      const [, tableName = "", columns = "", engine = "", rest = ""] = table;
      return [
        `CREATE TABLE IF NOT EXISTS ${tableName}_local ON CLUSTER '${name}' (${columns}) ` +
          `ENGINE = Replicated${engine}('/clickhouse/tables/{shard}/{database}/${tableName}', '{replica}')\n` +
          rest.replace(
            "non_replicated_deduplication_window = 10000",
            "replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800",
          ),
        `CREATE TABLE IF NOT EXISTS ${tableName} ON CLUSTER '${name}' AS ${tableName}_local\n` +
          `ENGINE = Distributed('${name}', currentDatabase(), ${tableName}_local, ${columns.includes("link_id") ? "cityHash64(link_id)" : "rand()"})`,
      ];
    }
    const view = CREATE_VIEW.exec(statement);
    if (view === null) throw new Error(`Cannot convert for a cluster: ${statement.slice(0, 80)}`);
    const [, viewName = "", target = "", select = ""] = view;
    return [
      `CREATE MATERIALIZED VIEW IF NOT EXISTS ${viewName} ON CLUSTER '${name}' TO ${target}_local AS\n${readLocalTables(select)}`,
    ];
  });
}
