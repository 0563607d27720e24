/** Checks the members of notices that deleted links do not have. */
import { isObject, isOptional, isTexts, isWebUrl, type Members } from "./member-checks.ts";

/**
 * Aliases of a domain are in lower case: all of them, or still some under both cases while the
 * domain switches.
 */
export type Fold = "all" | "switching";

const FOLDS: readonly unknown[] = ["all", "switching"] satisfies Fold[];

/**
 * Whether a notice is well formed: its takedowns, and the settings and account of a domain, if it
 * has them.
 */
export const isWholeNotice = ({ takedowns, settings, account_id }: Members): boolean =>
  isOptional(takedowns, isTakedownList) &&
  isOptional(settings, isDomainSettings) &&
  isOptional(account_id, (id) => typeof id === "string");

const isTakedownList = (list: unknown): boolean =>
  isObject(list) && isTexts(list["accounts"]) && isTexts(list["hosts"]);

/** Files for apps are any JSON. */
const isDomainSettings = (settings: unknown): boolean =>
  isObject(settings) &&
  [settings["root_url"], settings["not_found_url"], settings["expired_url"]].every((url) =>
    isOptional(url, isWebUrl),
  ) &&
  isOptional(settings["fold"], (fold) => FOLDS.includes(fold));
