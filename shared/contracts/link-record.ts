/**
 * The state of a short link in the links feed: all that a redirector needs, so that a redirect depends on no other
 * source. Each short link has its own NATS subject, which keeps only the last state.
 */
import type { Uuid } from "../ids.ts";
import { decides, isUnderstood, type LinkExtras } from "./link-extras.ts";

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
  /** What decides beside the destination; absent for most links. */
  extras?: LinkExtras;
  /** For the page about the link (`/alias+`), which reads the feed: redirectors do not cache it. */
  title?: string;
  /** Unix milliseconds since when the destination has its host; absent when it always had it. */
  host_changed_at?: number;
  /** The link's own UTM parameters as a query, for its clicks; absent for links without. */
  utm?: string;
};

/** A short link that no longer exists: a deletion or a rename freed its alias. */
type DeletedLink = {
  state: "deleted";
  version: number;
  domain: string;
  alias: string;
  /** Its domain has switched to aliases of the other case, or belongs to another account. */
  former?: true;
};

export type LinkRecord = ActiveLink | DeletedLink;

/** Most bytes of a message of the feed. */
export const LINK_RECORD_BYTES_MAX = 64 * 1024;

/** What a message needs beside its record: headers, and the digits of a version to come. */
const MESSAGE_OVERHEAD_BYTES = 512;

/** Most bytes of an encoded record. */
export const ENCODED_LINK_BYTES_MAX = LINK_RECORD_BYTES_MAX - MESSAGE_OVERHEAD_BYTES;

/**
 * A record as it is stored and published. A link whose extras decide is marked as deleted, with everything else beside
 * it: processes of versions without extras read it as a link that does not exist, and never lead to its destination.
 */
export type LinkMessage =
  ActiveLink | DeletedLink | (Omit<ActiveLink, "state"> & { state: "deleted" });

/** Marks the record of a link as deleted if its extras decide; others stay as they are. */
export const toMessage = <Draft extends { state: LinkRecord["state"]; extras?: LinkExtras }>(
  record: Draft,
): Draft | (Omit<Draft, "state"> & { state: "deleted" }) =>
  record.extras !== undefined && decides(record.extras) ? { ...record, state: "deleted" } : record;

/** Encodes a message for the feed. */
export const encodeLinkMessage = (message: LinkMessage): Uint8Array =>
  new TextEncoder().encode(JSON.stringify(message));

/** Encodes a record for the feed. */
export const encodeLinkRecord = (record: LinkRecord): Uint8Array =>
  encodeLinkMessage(toMessage(record));

/**
 * Decodes a message of the feed to its record; undefined when the bytes are not one. A link with extras that this
 * version does not understand is a deleted one. Only our own processes publish here, so this detects foreign messages,
 * not hostile ones.
 */
export function decodeLinkRecord(bytes: Uint8Array): LinkRecord | undefined {
  try {
    const message: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isMessage(message) ? toRecord(message) : undefined;
  } catch {
    return undefined;
  }
}

function toRecord(message: LinkMessage): LinkRecord {
  if (!("extras" in message) || message.extras === undefined) return message;
  const { version, domain, alias } = message;
  if (!isUnderstood(message.extras)) return { state: "deleted", version, domain, alias };
  const { extras, ...link } = message;
  // Without members, a link is a plain one.
  const members = Object.keys(extras).length === 0 ? {} : { extras };
  return { ...link, state: "active", ...members };
}

function isMessage(value: unknown): value is LinkMessage {
  if (typeof value !== "object" || value === null) return false;
  if (!("state" in value && "version" in value && "domain" in value && "alias" in value))
    return false;
  if (typeof value.version !== "number") return false;
  if (typeof value.domain !== "string" || typeof value.alias !== "string") return false;
  if (value.state === "deleted" && !("extras" in value)) return true;
  if ("extras" in value && (typeof value.extras !== "object" || value.extras === null))
    return false;
  if ("utm" in value && typeof value.utm !== "string") return false;
  return (
    (value.state === "active" || value.state === "deleted") &&
    "link_id" in value &&
    typeof value.link_id === "string" &&
    "account_id" in value &&
    typeof value.account_id === "string" &&
    "destination" in value &&
    typeof value.destination === "string"
  );
}
