/**
 * Checks of single members of the log's states. They are written by hand: every redirector reads
 * every message.
 */

import { isRedirectStatus } from "./redirect-status.ts";

/**
 * Maximum elements of a list: far more than the API allows, so that a later version may allow more.
 */
const LIST_LENGTH_MAX = 1_000;

/** The range of a `Date`, in milliseconds (ECMA-262, 21.4.1.1). */
const INSTANT_MAX = 8.64e15;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** An absolute http or https URL without characters that would end the line of a header. */
// oxlint-disable-next-line no-control-regex -- control characters are what it refuses
const WEB_URL = /^https?:\/\/[^\u0000-\u0020\u007f]+$/;

export type Members = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isString = (value: unknown): value is string => typeof value === "string";

export const isBoolean = (value: unknown): value is boolean => typeof value === "boolean";

/** Whether a value is a whole number from 0 to `max`. */
export const isCount = (value: unknown, max = Number.MAX_SAFE_INTEGER): value is number =>
  Number.isSafeInteger(value) && typeof value === "number" && value >= 0 && value <= max;

/** Whether a value is an instant in Unix milliseconds. */
export const isInstant = (value: unknown): value is number =>
  Number.isSafeInteger(value) && typeof value === "number" && Math.abs(value) <= INSTANT_MAX;

export const isUuid = (value: unknown): value is string => isString(value) && UUID.test(value);

/** Whether a value is a URL that visitors can be sent to. */
export const isWebUrl = (value: unknown): value is string =>
  isString(value) && WEB_URL.test(value) && URL.canParse(value);

/** Whether a value is absent, or passes `check`. */
export const isOptional = (value: unknown, check: (value: unknown) => boolean): boolean =>
  value === undefined || check(value);

/** Whether a value is a list whose elements all pass `check`. */
export const isListOf = (value: unknown, check: (value: unknown) => boolean): boolean =>
  Array.isArray(value) && value.length <= LIST_LENGTH_MAX && value.every(check);

/** Whether a value is a list of texts, of any length: the message's size bounds it. */
export const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isString);

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
  isOptional(settings["redirect_status"], isRedirectStatus) &&
  isOptional(settings["fold"], (fold) => FOLDS.includes(fold));
