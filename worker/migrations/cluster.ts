/**
 * The schema for a cluster, made from the one for a single server: each table becomes a replicated one on
 * every shard under `<name>_local`, and a distributed one under its own name, by which workers and API know
 * it. A link's clicks lie on one shard, so that its visitors can be told apart there.
 */

export type Cluster = {
  /** As in ClickHouse's `remote_servers`. */
  name: string;
};

const CREATE_TABLE = /^CREATE TABLE IF NOT EXISTS (\w+) \((.*)\) ENGINE = (\w+)\n(.*)$/s;
const CREATE_VIEW = /^CREATE MATERIALIZED VIEW IF NOT EXISTS (\w+) TO (\w+) AS\n(.*)$/s;

/** The same question to the tables of one shard. */
const local = (text: string): string =>
  text.replaceAll(/\bFROM (clicks\w*)\b/g, (_, table: string) => `FROM ${table}_local`);

/**
 * The statements for a cluster without data, in order. What fills new tables from old ones is left out.
 * Throws when a statement has a form that is not known here.
 */
export function clusterSchema(statements: readonly string[], { name }: Cluster): string[] {
  return statements.flatMap((commented) => {
    const statement = commented.replaceAll(/^--.*\n/gm, "").trim();
    if (/^(?:TRUNCATE|INSERT) /.test(statement)) return [];
    const table = CREATE_TABLE.exec(statement);
    if (table !== null) {
      const [, own = "", columns = "", engine = "", rest = ""] = table;
      return [
        `CREATE TABLE IF NOT EXISTS ${own}_local ON CLUSTER '${name}' (${columns}) ` +
          `ENGINE = Replicated${engine}('/clickhouse/tables/{shard}/{database}/${own}', '{replica}')\n` +
          rest.replace(
            "non_replicated_deduplication_window = 10000",
            "replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800",
          ),
        `CREATE TABLE IF NOT EXISTS ${own} ON CLUSTER '${name}' AS ${own}_local\n` +
          `ENGINE = Distributed('${name}', currentDatabase(), ${own}_local, ${columns.includes("link_id") ? "cityHash64(link_id)" : "rand()"})`,
      ];
    }
    const view = CREATE_VIEW.exec(statement);
    if (view === null)
      throw new Error(`Not known how to spread over a cluster: ${statement.slice(0, 80)}`);
    const [, own = "", target = "", select = ""] = view;
    return [
      `CREATE MATERIALIZED VIEW IF NOT EXISTS ${own} ON CLUSTER '${name}' TO ${target}_local AS\n${local(select)}`,
    ];
  });
}
