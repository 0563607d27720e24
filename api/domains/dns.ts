/** Reads TXT records from the resolvers that the operator chose. */
import { Resolver } from "node:dns/promises";

import { unavailable } from "../http/errors.ts";

const TIMEOUT_MS = 1_500;
const TRIES = 2;

/** DNS says that there is no such name, or no TXT record at it. */
const NONE = new Set(["ENOTFOUND", "ENODATA"]);

/** The TXT records at a name; none when there is no such name. Throws `unavailable` without an answer. */
export type ReadTxt = (name: string) => Promise<string[]>;

/** `servers` as `address` or `address:port`; those of the system when empty. */
export function createTxtReader(servers: readonly string[]): ReadTxt {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  if (servers.length > 0) resolver.setServers(servers);
  return async (name) => {
    try {
      const records = await resolver.resolveTxt(name);
      // A record longer than 255 bytes comes in parts (RFC 7208 §3.3 reads them the same way).
      return records.map((parts) => parts.join(""));
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : undefined;
      if (typeof code === "string" && NONE.has(code)) return [];
      throw unavailable(error);
    }
  };
}
