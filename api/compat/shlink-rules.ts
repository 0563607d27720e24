/** Rules of links in the shape of Shlink, whose conditions have one value each. */
import * as z from "zod";

import type { rulesResponse } from "../../shared/contracts/link-rules.ts";

/** Conditions that are the same but for their names: Shlink's, and ours. */
const SAME: ReadonlyMap<string, string> = new Map([
  ["language", "language"],
  ["ip-address", "ip"],
  ["geolocation-country-code", "country"],
]);

/** Shlink's devices, which are kinds of devices and systems here. */
const DEVICES: ReadonlyMap<string, readonly [type: string, value: string]> = new Map([
  ["mobile", ["device", "mobile"]],
  ["desktop", ["device", "desktop"]],
  ["android", ["os", "Android"]],
  ["ios", ["os", "iOS"]],
  ["windows", ["os", "Windows"]],
  ["macos", ["os", "macOS"]],
  ["linux", ["os", "Linux"]],
  ["chromeos", ["os", "ChromeOS"]],
]);

const QUERIES = ["valueless-query-param", "any-value-query-param", "query-param"] as const;

const condition = z.object({
  type: z.enum(["device", ...SAME.keys(), ...QUERIES]),
  matchKey: z.string().nullish(),
  matchValue: z.string().nullish(),
});

export const rulesBody = z.object({
  redirectRules: z.array(z.object({ longUrl: z.string(), conditions: z.array(condition) })),
});

type Condition = z.output<typeof condition>;
type OwnCondition = z.output<typeof rulesResponse>[number]["conditions"][number];

/** Rules as `/v1` takes them, which checks their values. */
export const toRules = ({ redirectRules }: z.output<typeof rulesBody>) =>
  redirectRules.map(({ longUrl: url, conditions }) => ({
    url,
    conditions: conditions.map(toOwn),
  }));

function toOwn({ type, matchKey: name, matchValue }: Condition): object {
  const value = matchValue ?? "";
  if (type === "device") {
    const [own, named] = DEVICES.get(value.toLowerCase()) ?? ["device", value];
    return { type: own, in: [named] };
  }
  const same = SAME.get(type);
  if (same !== undefined) return { type: same, in: [value] };
  if (type === "any-value-query-param") return { type: "query", name };
  return { type: "query", name, in: [type === "query-param" ? value : ""] };
}

/** The conditions of a rule; undefined where Shlink has none that means the same. */
export function toConditions(conditions: readonly OwnCondition[]): Condition[] | undefined {
  const known = conditions.flatMap((own) => fromOwn(own) ?? []);
  return known.length < conditions.length ? undefined : known;
}

/** The condition of Shlink that becomes this one. */
function fromOwn(own: OwnCondition): Condition | undefined {
  const matchKey = "name" in own ? own.name : null;
  const [matchValue = ""] = "in" in own && own.in !== undefined ? own.in : [];
  return [
    ...[...DEVICES.keys()].map((name) => ({ type: "device", matchKey, matchValue: name })),
    ...[...SAME.keys(), ...QUERIES].map((type) => ({ type, matchKey, matchValue })),
  ].find((known) => Bun.deepEquals(toOwn(known), own));
}
