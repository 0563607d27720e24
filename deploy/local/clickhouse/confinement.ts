/**
 * Restricts statements to the engine's own tables, without access to this machine or the network.
 * The engine's user has no grant on any source (files, URLs, other servers, programs) and no
 * administrative grant; settings that name files are read-only. `statement-check.ts` rejects what
 * grants do not cover and what chDB does on the client's side.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { BODY_BYTES_MAX } from "./statement.ts";

/** Statement timeout; the longest statements are rollup rebuilds started by an operator. */
const STATEMENT_SECONDS_MAX = 3_600;

/** Grants for what the product and its tests do; none of them covers a source. */
const GRANTS = [
  "GRANT SELECT, INSERT, SHOW, CREATE DATABASE, CREATE TABLE, CREATE VIEW, DROP, TRUNCATE, OPTIMIZE ON *.*",
  `GRANT ALTER UPDATE, ALTER DELETE, ALTER COLUMN, ALTER INDEX, ALTER PROJECTION, ALTER ORDER BY,
   ALTER TTL, ALTER MATERIALIZE TTL, ALTER SETTINGS ON *.*`,
];

/**
 * Settings with which a statement could read or write a file, open a connection, be parsed in
 * another dialect, or evaluate an expression that is not in its text.
 */
const FIXED_SETTINGS = [
  "format_schema",
  "format_schema_source",
  "format_template_resultset",
  "format_template_row",
  "input_format_record_errors_file_path",
  "format_avro_schema_registry_url",
  "allow_experimental_eval_table_function",
  "output_format_schema",
  "rename_files_after_processing",
  "dialect",
  "additional_result_filter",
  "additional_table_filters",
  "parallel_replicas_custom_key",
  "schema_inference_hints",
];

/**
 * Writes the engine's configuration into `dir`, with the grants of its user; returns the connection
 * arguments that load it.
 */
export function confine(dir: string, grants: readonly string[] = GRANTS): string[] {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const users = join(dir, "users.xml");
  const config = join(dir, "config.xml");
  const fixed = FIXED_SETTINGS.map((name) => `<${name}><const/></${name}>`).join("");
  write(
    users,
    `<clickhouse>
  <profiles>
    <default>
      <max_execution_time>${STATEMENT_SECONDS_MAX}</max_execution_time>
      <!-- Parameters, which ClickHouse's own interface takes beside a statement, are set by one (engine.ts). -->
      <max_query_size>${BODY_BYTES_MAX}</max_query_size>
      <!-- Local files are in the page cache: handing each read to another thread costs more than the read. -->
      <local_filesystem_read_method>pread</local_filesystem_read_method>
      <constraints>${fixed}</constraints>
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
