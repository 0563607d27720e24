/**
 * Checks the redirect settings in a message of the links log, so that no later reader of them
 * throws. Additions of later versions are not malformed: {@link isUnderstood} returns that this
 * version lacks them.
 */
import { isIP } from "node:net";

import { cached } from "../visitors/cache.ts";
import {
  isBoolean,
  isCount,
  isInstant,
  isListOf,
  isObject,
  isOptional,
  isString,
  isTexts,
  isUuid,
  isWebUrl,
  type Members,
} from "./member-checks.ts";
import { CONDITION_TYPES, MEMBERS, type RedirectSettings } from "./redirect-settings.ts";
import { isRedirectStatus } from "./redirect-status.ts";

/** Known names of time zones, and known invalid ones: there are some 600. */
const ZONES_MAX = 1_000;

const UINT32_MAX = 2 ** 32 - 1;

const PERCENT_MAX = 100;

const TIME = /^\d\d:\d\d$/;

const FORWARD_PATHS: readonly unknown[] = [
  "append",
  "ignore",
] satisfies RedirectSettings["forward_path"][];

const isTimeZone = cached(ZONES_MAX, (name: string): boolean => {
  try {
    return Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name).timeZoneId !== "";
  } catch {
    return false;
  }
});

/** Whether a text is an IP address or a CIDR block. */
function isAddressBlock(value: unknown): boolean {
  if (!isString(value)) return false;
  const [address = "", bits, ...rest] = value.split("/");
  const version = isIP(address);
  // A zone (`%eth0`) belongs to one machine.
  if (version === 0 || rest.length > 0 || address.includes("%")) return false;
  return bits === undefined || (bits !== "" && isCount(Number(bits), version === 6 ? 128 : 32));
}

const isDate = (value: unknown): boolean => isString(value) && !Number.isNaN(Date.parse(value));

function isCondition(condition: unknown): boolean {
  if (!isObject(condition) || !isOptional(condition["not"], isBoolean)) return false;
  const { type, in: values } = condition;
  switch (type) {
    case "query":
      return isString(condition["name"]) && isOptional(values, isTexts);
    case "time":
      return isOptional(condition["from"], isDate) && isOptional(condition["until"], isDate);
    case "schedule":
      return isSchedule(condition);
    case "ip":
      return Array.isArray(values) && values.every(isAddressBlock);
    default:
      return isString(type) && isTexts(values);
  }
}

const isSchedule = ({ timezone, days, from, to }: Members): boolean =>
  isString(timezone) &&
  isTimeZone(timezone) &&
  isListOf(days, (day) => isCount(day, 7)) &&
  [from, to].every((time) => isString(time) && TIME.test(time));

const isRule = (rule: unknown): boolean =>
  isObject(rule) &&
  isUuid(rule["id"]) &&
  isWebUrl(rule["url"]) &&
  isListOf(rule["conditions"], isCondition);

const isArm = (arm: unknown): boolean =>
  isObject(arm) && isUuid(arm["id"]) && isWebUrl(arm["url"]) && isCount(arm["weight"], PERCENT_MAX);

const isSplit = (split: unknown): boolean =>
  isObject(split) &&
  isCount(split["key"], UINT32_MAX) &&
  isListOf(split["arms"], isArm) &&
  isOptional(split["until"], isInstant);

const isPreview = (preview: unknown): boolean =>
  isObject(preview) &&
  isString(preview["title"]) &&
  isOptional(preview["description"], isString) &&
  isOptional(preview["image"], isWebUrl);

const isLimit = (limit: unknown): boolean =>
  isObject(limit) &&
  isUuid(limit["id"]) &&
  [limit["max"], limit["before"], limit["stored"]].every((count) => isCount(count)) &&
  isOptional(limit["humans"], isBoolean);

const CHECKS: Readonly<Record<keyof RedirectSettings, (value: unknown) => boolean>> = {
  taken_down: isBoolean,
  disabled: isBoolean,
  starts_at: isInstant,
  expired_url: isWebUrl,
  rules: (rules) => isListOf(rules, isRule),
  split: isSplit,
  preview: isPreview,
  forward_path: (value) => FORWARD_PATHS.includes(value),
  redirect_status: isRedirectStatus,
  limit: isLimit,
  confirm: isBoolean,
};

/** Whether the settings that this version understands are well formed. */
export const isRedirectSettings = (settings: Members): settings is RedirectSettings =>
  Object.entries(CHECKS).every(([member, check]) => isOptional(settings[member], check));

/** Whether this version understands all redirect settings of a link. */
export function isUnderstood(settings: Members): boolean {
  const { rules, forward_path, redirect_status } = settings;
  return (
    Object.keys(settings).every((member) => MEMBERS.includes(member)) &&
    (!isString(forward_path) || FORWARD_PATHS.includes(forward_path)) &&
    (!isCount(redirect_status) || isRedirectStatus(redirect_status)) &&
    (!Array.isArray(rules) || rules.every(hasUnderstoodConditions))
  );
}

function hasUnderstoodConditions(rule: unknown): boolean {
  const conditions = isObject(rule) ? rule["conditions"] : undefined;
  return !Array.isArray(conditions) || conditions.every(hasUnderstoodType);
}

const hasUnderstoodType = (condition: unknown): boolean =>
  !isObject(condition) ||
  !isString(condition["type"]) ||
  CONDITION_TYPES.includes(condition["type"]);
