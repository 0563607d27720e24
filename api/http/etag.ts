/**
 * Entity tags (RFC 9110 §8.8.3) of resources with a version. A tag covers the version and the other
 * values of the response that can change. `If-Match` compares only the version, so that a click
 * does not fail an update.
 */
import { ApiError } from "./errors.ts";
import { entriesOf } from "./header-lists.ts";

/** The tag of a version, and of the other values that a response depends on. */
export const toEtag = (version: number, ...others: readonly (number | string)[]): string =>
  `"${[version, ...others].join("-")}"`;

/** Throws `precondition_failed` unless the request may change this version. */
export type RequireVersion = (version: number) => void;

/** Reads `If-Match`; without it, or with `*`, any version may be changed. */
export function readIfMatch(headers: Headers): RequireVersion {
  const header = headers.get("if-match");
  if (header === null || header.trim() === "*") return () => undefined;
  const versions = new Set(listTags(header).map((tag) => tag.split("-")[0]));
  return (version) => {
    if (versions.has(String(version))) return;
    throw new ApiError(
      "precondition_failed",
      "The link has changed since the version in If-Match. Read it again.",
    );
  };
}

/** Whether `If-None-Match` contains this tag, which means that the client's copy is current. */
export function isNotModified(headers: Headers, etag: string): boolean {
  const header = headers.get("if-none-match");
  return header !== null && (header.trim() === "*" || listTags(header).includes(etag.slice(1, -1)));
}

/**
 * The tags of a header without their quotes. Weak tags compare like strong ones, because ours
 * change with every byte.
 */
const listTags = (header: string): string[] =>
  entriesOf(header).map((tag) => tag.replace(/^W\//, "").replaceAll('"', ""));
