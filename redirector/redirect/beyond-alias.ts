/**
 * The aliases that a path may mean: the whole path; `/alias+`, a link's about page; without what is
 * glued to it; and `/alias/more`, for links that forward the path.
 */
import {
  decodeAliasPath,
  encodeAlias,
  isAlias,
  isJunk,
  trimAlias,
} from "../../shared/contracts/alias.ts";
import { decodeText } from "../../shared/contracts/click-text.ts";
import { encodeUriPart } from "../../shared/contracts/web-url.ts";
import { normalizePath, type RequestHead, toLatin1 } from "../http/request.ts";

/** The character after the alias in the path of a link's about page. */
export const ABOUT = "+";

/** Maximum characters of a path that are examined: an alias has fewer, however it is escaped. */
const EXAMINED_LENGTH_MAX = 1_024;

/** An alias, and the rest of the path: "", {@link ABOUT}, or a slash and more. */
export type AliasPath = { alias: string; suffix: string };

/**
 * Reads a normalized path: the aliases that it may mean, the longest first, each with the path
 * after it. Of those that have a link the first one decides.
 */
export function readAliases(path: string): AliasPath[] {
  const text = decodePath(path);
  const names: AliasPath[] = [];
  const add = (alias: string, suffix: string): void => {
    if (isAlias(alias)) names.push({ alias, suffix });
  };
  if (path.length <= EXAMINED_LENGTH_MAX) {
    if (path.endsWith(ABOUT)) add(text.slice(1, -ABOUT.length), ABOUT);
    else add(text.slice(1), "");
  }
  const slash = path.indexOf("/", 1);
  const first = slash < 0 ? "" : decodePath(path.slice(1, slash));
  const trimmed = names.length === 0 ? (trimAlias(text) ?? first) : first;
  if (trimmed !== first) add(trimmed, "");
  if (slash > 0) add(first, path.slice(slash));
  return names;
}

/** Whether what follows an alias in a normalized path was not meant as a part of the short URL. */
export const isGlued = (suffix: string): boolean => isJunk(decodePath(suffix));

/** The text of the beginning of a path whose bytes are one character each. */
const decodePath = (path: string): string =>
  decodeAliasPath(decodeText(path.slice(0, EXAMINED_LENGTH_MAX)));

/**
 * The path after the first segment, as it was sent, from a slash on: what a link forwards, whose
 * alias has no slash. "" for none, for a single slash, and for a path without an alias as it is.
 */
export function suffixOf(path: string): string {
  const slash = path.indexOf("/", 1);
  if (slash < 0 || slash === path.length - 1) return "";
  return isAlias(decodePath(path.slice(1, slash))) ? path.slice(slash) : "";
}

/**
 * The part of a request's path that is the alias of its link, in ASCII: as it was sent, but for
 * what is glued to it. Of a link that forwards the path it is the first segment.
 */
export function aliasPathOf(head: RequestHead, forwards: boolean): string {
  const path = toLatin1(head, head.path);
  const names = readAliases(normalizePath(path) ?? "");
  const { alias = "" } = (forwards ? names.at(-1) : names[0]) ?? {};
  const bare = path.replace(/\+?\/?$/, "");
  const first = bare.slice(0, bare.indexOf("/", 1));
  const sent = [bare, first].find((text) => decodePath(text) === `/${alias}`);
  return sent === undefined ? `/${encodeAlias(alias)}` : encodeUriPart(sent);
}
