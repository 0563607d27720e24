/** Reads TXT records from the operator's DNS resolvers. */
import { freshResolver } from "../../shared/hosts.ts";
import { unavailable } from "../http/errors.ts";

const TIMEOUT_MS = 1_500;

/** Error codes for a name that does not exist or has no TXT record. */
const NOT_FOUND_CODES = new Set(["ENOTFOUND", "ENODATA"]);

/**
 * Asks for the TXT records of a name; returns none if it does not exist. Throws `unavailable` when
 * DNS fails.
 */
export type ReadTxt = (name: string) => Promise<string[]>;

/**
 * Creates a reader on `servers` (`address` or `address:port`), or on the system's resolvers if
 * empty.
 */
export function createTxtReader(servers: readonly string[]): ReadTxt {
  return async (name) => {
    try {
      const records = await freshResolver(servers, TIMEOUT_MS).resolveTxt(name);
      // A record longer than 255 bytes consists of several strings, which are concatenated (RFC
      // 7208 §3.3).
      return records.map((strings) => strings.join(""));
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : undefined;
      if (typeof code === "string" && NOT_FOUND_CODES.has(code)) return [];
      throw unavailable(error);
    }
  };
}
