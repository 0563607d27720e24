/**
 * Entity tags (RFC 9110 §8.8.3) of resources with a version. A tag covers the version and the other
 * values of the response that can change. The preconditions of a change compare only the version,
 * so that a click does not fail an update.
 *
 * A tag is searched for in a header as a whole, with its quotes: a list has any length. Weak tags
 * compare like strong ones: a proxy that compresses a response weakens its tag, which still names
 * the version.
 */
import { ApiError } from "./errors.ts";

/** The tag of a version, and of the other values that a response depends on. */
export const toEtag = (version: number, ...others: readonly (number | string)[]): string =>
  `"${[version, ...others].join("-")}"`;

/** Throws `precondition_failed` unless the request may change this version. */
export type RequireVersion = (version: number) => void;

/** Reads the preconditions of a change: `If-Match`, and `If-None-Match` (RFC 9110 §13.1). */
export function readPreconditions(headers: Headers): RequireVersion {
  const match = headers.get("if-match");
  const noneMatch = headers.get("if-none-match");
  return (version) => {
    const tags = [`"${version}"`, `"${version}-`];
    if (match !== null && !hasTag(match, tags)) {
      throw new ApiError(
        "precondition_failed",
        "The link has changed since the version in If-Match. Read it again.",
      );
    }
    if (noneMatch !== null && hasTag(noneMatch, tags))
      throw new ApiError("precondition_failed", "If-None-Match excludes the link as it is.");
  };
}

/** Whether `If-None-Match` contains this tag, which means that the client's copy is current. */
export function isNotModified(headers: Headers, etag: string): boolean {
  const header = headers.get("if-none-match");
  return header !== null && hasTag(header, [etag]);
}

/** Whether a header has a tag that begins so, or `*`, which stands for every tag. */
function hasTag(header: string, beginnings: readonly string[]): boolean {
  if (header.trim() === "*") return true;
  // Shells remove the quotes of tags that are written into a command.
  const tags = header.includes('"')
    ? header
    : header.replaceAll(/[^\s,]+/g, (tag) => `"${tag.replace(/^W\//, "")}"`);
  return beginnings.some((beginning) => tags.includes(beginning));
}
