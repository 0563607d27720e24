/**
 * What the links feed says of one short link: the whole of what a redirector needs, so that a
 * redirect needs no other source. One NATS subject a short link holds the last state alone.
 */
import type { Uuid } from "../ids.ts";

/** The domain name that stands for the service's own short domain, whatever its hosts are. */
export const DEFAULT_DOMAIN = "";

/** A link's mode: test links redirect and count like live ones, and never mix with them. */
export type Mode = "live" | "test";

export type ActiveLink = {
  state: "active";
  /** From one PostgreSQL sequence for all links: of two states of a short link the higher wins. */
  version: number;
  /** {@link DEFAULT_DOMAIN} or a custom domain's host in lower case. */
  domain: string;
  alias: string;
  link_id: Uuid;
  account_id: Uuid;
  mode: Mode;
  /** Where the redirect goes, UTM parameters already set. */
  destination: string;
  /** Unix milliseconds, or null when the link does not expire. */
  expires_at: number | null;
  /** Argon2id hash in PHC form, or null when the link asks for no password. */
  password_hash: string | null;
  /** Whether the short URL's own query is passed on to the destination. */
  forward_query: boolean;
};

/** A short link that is gone: its alias was freed by a deletion or a rename. */
type DeletedLink = { state: "deleted"; version: number; domain: string; alias: string };

export type LinkRecord = ActiveLink | DeletedLink;

/** The most bytes the record of one link may take on the wire: far above what the limits allow. */
export const LINK_RECORD_BYTES_MAX = 64 * 1024;

/** Writes a record as it travels in the feed. */
export const encodeLinkRecord = (record: LinkRecord): Uint8Array =>
  new TextEncoder().encode(JSON.stringify(record));

/**
 * Reads a record from the feed; undefined when the bytes are not one. Only processes of ours
 * publish here, so the check guards against foreign messages rather than hostile ones.
 */
export function decodeLinkRecord(bytes: Uint8Array): LinkRecord | undefined {
  try {
    const record: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isLinkRecord(record) ? record : undefined;
  } catch {
    return undefined;
  }
}

function isLinkRecord(value: unknown): value is LinkRecord {
  if (typeof value !== "object" || value === null) return false;
  if (!("state" in value && "version" in value && "domain" in value && "alias" in value))
    return false;
  if (typeof value.version !== "number") return false;
  if (typeof value.domain !== "string" || typeof value.alias !== "string") return false;
  if (value.state === "deleted") return true;
  return (
    value.state === "active" &&
    "link_id" in value &&
    typeof value.link_id === "string" &&
    "account_id" in value &&
    typeof value.account_id === "string" &&
    "destination" in value &&
    typeof value.destination === "string"
  );
}
