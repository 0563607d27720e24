/**
 * The state of a short link in the links feed: all that a redirector needs, so that a redirect depends on no other
 * source. Each short link has its own NATS subject, which keeps only the last state.
 */
import type { Uuid } from "../ids.ts";

/** The domain name of the service's own short domain, whatever its hosts are. */
export const DEFAULT_DOMAIN = "";

/** A link's mode: test links redirect and count like live ones, but are separate from them. */
export type Mode = "live" | "test";

export type ActiveLink = {
  state: "active";
  /** From one PostgreSQL sequence for all links. Of two states of a short link the one with the higher version is valid. */
  version: number;
  /** {@link DEFAULT_DOMAIN} or a custom domain's host in lower case. */
  domain: string;
  alias: string;
  link_id: Uuid;
  account_id: Uuid;
  mode: Mode;
  /** The URL to redirect to, with its UTM parameters. */
  destination: string;
  /** Unix milliseconds, or null when the link does not expire. */
  expires_at: number | null;
  /** Argon2id hash in PHC format, or null when the link has no password. */
  password_hash: string | null;
  /** Whether the query of the short URL is forwarded to the destination. */
  forward_query: boolean;
};

/** A short link that no longer exists: a deletion or a rename freed its alias. */
type DeletedLink = { state: "deleted"; version: number; domain: string; alias: string };

export type LinkRecord = ActiveLink | DeletedLink;

/** Most bytes of an encoded record: far more than the limits of its fields allow. */
export const LINK_RECORD_BYTES_MAX = 64 * 1024;

/** Encodes a record for the feed. */
export const encodeLinkRecord = (record: LinkRecord): Uint8Array =>
  new TextEncoder().encode(JSON.stringify(record));

/**
 * Decodes a record of the feed; undefined when the bytes are not one. Only our own processes publish here, so this
 * detects foreign messages, not hostile ones.
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
