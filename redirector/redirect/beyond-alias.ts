/**
 * Paths that continue after an alias: `/alias+`, a link's about page, and `/alias/more`, for links
 * that forward the path.
 */
import { ALIAS_PATTERN, isJunk, trimAlias } from "../../shared/contracts/alias.ts";
import { decodeText } from "../../shared/contracts/click-text.ts";
import { normalizePath, type RequestHead, toLatin1 } from "../http/request.ts";

/** The character after the alias in the path of a link's about page. */
export const ABOUT = "+";

/** Maximum characters of a path that are examined for what is glued to an alias. */
const GLUED_LENGTH_MAX = 1_024;

/** An alias, and the rest of the path: "", {@link ABOUT}, or a slash and more. */
type AliasPath = { alias: string; suffix: string };

/**
 * Reads a normalized path: its alias, and the path after it. Where it has no alias as it is, what
 * is glued to one is dropped. Undefined when it has none even so.
 */
export function readAliasPath(path: string): AliasPath | undefined {
  const split = splitBeyondAlias(path);
  if (split !== undefined) return split;
  const alias = trimAlias(decodePath(path));
  return alias === undefined ? undefined : { alias, suffix: "" };
}

/** Splits a normalized path after the alias; undefined when it does not start with one. */
function splitBeyondAlias(path: string): AliasPath | undefined {
  const slash = path.indexOf("/", 1);
  const isAbout = slash < 0 && path.endsWith(ABOUT);
  const end = isAbout ? path.length - ABOUT.length : slash < 0 ? path.length : slash;
  const alias = path.slice(1, Math.max(1, end));
  return ALIAS_PATTERN.test(alias) ? { alias, suffix: path.slice(end) } : undefined;
}

/** Whether what follows an alias in a normalized path was not meant as a part of the short URL. */
export const isGlued = (suffix: string): boolean => isJunk(decodePath(suffix));

/** The text of the beginning of a path whose bytes are one character each. */
const decodePath = (path: string): string =>
  decodeText(
    path
      .slice(0, GLUED_LENGTH_MAX)
      .replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) =>
        String.fromCharCode(Number.parseInt(hex, 16)),
      ),
  );

/**
 * The path after the alias, as it was sent, from a slash on; "" for none, for a single slash, and
 * for a path without an alias as it is.
 */
export function suffixOf(path: string): string {
  const slash = path.indexOf("/", 1);
  if (slash < 0 || slash === path.length - 1) return "";
  return isAlias(path.slice(0, slash)) ? path.slice(slash) : "";
}

/** The part of a request's path that is the alias: as it was sent, but for what is glued to it. */
export function aliasPathOf(head: RequestHead): string {
  const path = toLatin1(head, head.path);
  const bare = path.replace(/\+?\/?$/, "");
  const slash = bare.indexOf("/", 1);
  const first = slash < 0 ? bare : bare.slice(0, slash);
  return isAlias(first) ? first : `/${readAliasPath(normalizePath(path) ?? "")?.alias ?? ""}`;
}

/** Whether a slash and a text, as they were sent, are the path of an alias. */
const isAlias = (path: string): boolean => ALIAS_PATTERN.test(normalizePath(path)?.slice(1) ?? "");
