/**
 * Paths that continue after an alias: `/alias+`, a link's about page, and `/alias/more`, for links
 * that forward the path.
 */
import { ALIAS_PATTERN } from "../../shared/contracts/alias.ts";
import type { RequestHead } from "../http/request-head.ts";
import { toLatin1 } from "../http/request.ts";

/** The character after the alias in the path of a link's about page. */
export const ABOUT = "+";

/** An alias, and the rest of the path: {@link ABOUT}, or a slash and more. */
type BeyondAlias = { alias: string; suffix: string };

/** Splits a normalized path after the alias; undefined when it does not start with one. */
export function splitBeyondAlias(path: string): BeyondAlias | undefined {
  const slash = path.indexOf("/", 1);
  const end = slash < 0 && path.endsWith(ABOUT) ? path.length - ABOUT.length : slash;
  const alias = path.slice(1, Math.max(1, end));
  return ALIAS_PATTERN.test(alias) ? { alias, suffix: path.slice(end) } : undefined;
}

/**
 * The path after the alias, as it was sent, from a slash on; "" for none, and for a single slash.
 */
export function suffixOf(path: string): string {
  const slash = path.indexOf("/", 1);
  return slash < 0 || slash === path.length - 1 ? "" : path.slice(slash);
}

/** The part of a request's path that is the alias, as it was sent. */
export function aliasPathOf(head: RequestHead): string {
  const path = toLatin1(head, head.path).replace(/\+?\/?$/, "");
  const slash = path.indexOf("/", 1);
  return slash < 0 ? path : path.slice(0, slash);
}
