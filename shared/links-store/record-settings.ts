/**
 * The part of a link's record that most links lack: its redirect settings, and its UTM parameters.
 * Little-endian: u16 length of both without rules, as one JSON object; u32 length of the encoded
 * rules, and these.
 */
import type { ByteSlice } from "../bytes.ts";
import type { ActiveLink } from "../contracts/link-record.ts";
import type { RedirectSettings } from "../contracts/redirect-settings.ts";
import { u16At, u32At } from "../decision/byte-writer.ts";
import { EncodedRules, encodeRules } from "../decision/encoded-rules.ts";

/** A link's redirect settings but for its rules, and its destination's UTM parameters. */
export type CachedSettings = Omit<RedirectSettings, "rules"> & { utm?: string };

const JSON_LENGTH_BYTES = 2;
const RULES_LENGTH_BYTES = 4;

type EncodedSettings = { json: Buffer; rules: EncodedRules | undefined };

/** The settings of a link as they are written; undefined for most links. */
export function encodeSettings({ extras, utm }: ActiveLink): EncodedSettings | undefined {
  if (extras === undefined && utm === undefined) return undefined;
  const { rules, ...settings } = extras ?? {};
  const cached: CachedSettings = utm === undefined ? settings : { ...settings, utm };
  return {
    json: Buffer.from(JSON.stringify(cached)),
    rules: rules === undefined ? undefined : encodeRules(rules),
  };
}

/** The record with its rules encoded, so that they are not encoded each time they are needed. */
export const withEncodedRules = (record: ActiveLink): ActiveLink =>
  record.extras?.rules === undefined
    ? record
    : { ...record, extras: { ...record.extras, rules: encodeRules(record.extras.rules) } };

/** Bytes that {@link writeSettings} writes. */
export const settingsSize = ({ json, rules }: EncodedSettings): number =>
  JSON_LENGTH_BYTES + json.length + RULES_LENGTH_BYTES + (rules?.size() ?? 0);

export function writeSettings(bytes: Buffer, at: number, { json, rules }: EncodedSettings): void {
  bytes.writeUInt16LE(json.length, at);
  json.copy(bytes, at + JSON_LENGTH_BYTES);
  const rulesAt = at + JSON_LENGTH_BYTES + json.length;
  bytes.writeUInt32LE(rules?.size() ?? 0, rulesAt);
  rules?.writeTo(bytes, rulesAt + RULES_LENGTH_BYTES);
}

/** The JSON of the settings at `at`. */
export function readSettings(bytes: Buffer, at: number): ByteSlice {
  const start = at + JSON_LENGTH_BYTES;
  return { bytes, start, end: start + u16At(bytes, at) };
}

/** The rules of the settings at `at`; null for settings without. */
export function readRules(bytes: Buffer, at: number): EncodedRules | null {
  const end = settingsEnd(bytes, at);
  const start = rulesLengthAt(bytes, at) + RULES_LENGTH_BYTES;
  return start === end ? null : new EncodedRules({ bytes, start, end });
}

/** Where the settings at `at` end. */
export function settingsEnd(bytes: Buffer, at: number): number {
  const rules = rulesLengthAt(bytes, at);
  return rules + RULES_LENGTH_BYTES + u32At(bytes, rules);
}

const rulesLengthAt = (bytes: Buffer, at: number): number =>
  at + JSON_LENGTH_BYTES + u16At(bytes, at);

/** Parses the settings of a link that has any. They were checked when the record was decoded. */
export const parseSettings = ({ bytes, start, end }: ByteSlice): CachedSettings =>
  JSON.parse(bytes.toString("utf8", start, end));

/** The members of a record that settings and rules are. */
export function toMembers(
  { utm, ...settings }: CachedSettings,
  rules: EncodedRules | null,
): Pick<ActiveLink, "extras" | "utm"> {
  const extras: RedirectSettings = rules === null ? settings : { ...settings, rules };
  if (utm === undefined) return { extras };
  return Object.keys(extras).length === 0 ? { utm } : { extras, utm };
}
