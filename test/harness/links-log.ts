/** Records and entries of the links log, and the keys with which tests sign it. */
import type { ActiveLink } from "../../shared/contracts/link-record.ts";
import { newUuid } from "../../shared/ids.ts";
import { ENTRY_FORMAT, type EntryHeader } from "../../shared/links-log/entries.ts";
import { LogSigner } from "../../shared/links-log/signature.ts";

/** A plain link of the service's own domain, whose destination names its version. */
export const activeLink = (alias: string, version: number): ActiveLink => ({
  state: "active",
  version,
  domain: "",
  alias,
  link_id: newUuid(),
  account_id: newUuid(),
  mode: "live",
  destination: `https://example.com/${version}`,
  expires_at: null,
  password_hash: null,
  forward_query: false,
});

const NEWLINE = Buffer.from("\n");

/** Encodes an entry, as PostgreSQL does (`number_link_log()`). */
export function encodeEntry(
  { database, term, position, previous }: EntryHeader,
  states: readonly Uint8Array[],
): Uint8Array {
  const header = JSON.stringify({ format: ENTRY_FORMAT, database, term, position, previous });
  return Buffer.concat([Buffer.from(header), ...states.flatMap((state) => [NEWLINE, state])]);
}

export const SIGNING_KEY = "5".repeat(64);

/** The signer of a stack, or of services that have no key of their own. */
export const signerOf = ({
  links_signing_key: key = SIGNING_KEY,
}: {
  links_signing_key?: string | undefined;
}) => new LogSigner({ LINKS_SIGNING_KEY: key, LINKS_PUBLIC_KEYS: [] });

export const SIGNER = signerOf({});
