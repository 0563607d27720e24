/** How the gateway is started. */
import { join } from "node:path";

/**
 * Most bytes of a URL, as of a ClickHouse server (`http_max_uri_size`): statements whose response
 * is read in parts have their parameters there. Bun's own limit is 16 KiB.
 */
const URL_BYTES_MAX = 1024 * 1024;

export const GATEWAY_FLAG = `--max-http-header-size=${URL_BYTES_MAX}`;

/** The command after the path of Bun. */
export const GATEWAY_ARGUMENTS: readonly string[] = [
  GATEWAY_FLAG,
  join(import.meta.dir, "main.ts"),
];
