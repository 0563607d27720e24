/** Drafts of rules and split: the texts as typed, and their conversion from and to the API. */
import type * as z from "zod";

import { randomKey } from "../../../../clients/typescript/src/calls.ts";
import type { FullLink } from "../../../../clients/typescript/src/index.ts";
import { rulesField } from "../../../../shared/contracts/link-rules.ts";
import { splitField } from "../../../../shared/contracts/link-settings.ts";
import { parseWebUrl } from "../../../../shared/contracts/web-url.ts";
import { toCodes, toNames } from "../../data/named-values.ts";
import { describeIssue, describeRule } from "../../languages/errors.ts";
import { t } from "../../languages/translate.ts";
import { getLocalZone, toInstant, toLocalTime } from "../../ui/local-time.ts";

type ApiRule = NonNullable<FullLink["rules"]>[number];
type ApiCondition = ApiRule["conditions"][number];

export type ConditionType = ApiCondition["type"];

/** A condition of any type; which fields count depends on the type. */
export type ConditionDraft = {
  key: string;
  type: ConditionType;
  not: boolean;
  /** Values, separated by commas; of countries and languages, by name or code. */
  values: string;
  /** Of a query parameter. */
  name: string;
  /** Of an instant, the value of a `datetime-local` input; of a schedule, a time of day. */
  from: string;
  until: string;
  timeZone: string;
  days: readonly number[];
  /** As the API has it; absent for a new one. */
  stored?: ApiCondition;
};

export type RuleDraft = {
  key: string;
  id?: string;
  url: string;
  conditions: readonly ConditionDraft[];
};

export type ArmDraft = { key: string; id?: string; label: string; url: string; weight: string };

export type Draft = {
  rules: readonly RuleDraft[];
  arms: readonly ArmDraft[];
  /** The value of a `datetime-local` input. */
  until: string;
  /** Its instant in the API. */
  storedUntil: string | null;
};

export const newCondition = (type: ConditionType): ConditionDraft => ({
  key: randomKey(),
  type,
  not: false,
  values: "",
  name: "",
  from: type === "schedule" ? "09:00" : "",
  until: type === "schedule" ? "17:00" : "",
  timeZone: getLocalZone(),
  days: [1, 2, 3, 4, 5],
});

export const newRule = (): RuleDraft => ({
  key: randomKey(),
  url: "",
  conditions: [newCondition("device")],
});

export const newArm = (): ArmDraft => ({
  key: randomKey(),
  label: "",
  url: "",
  weight: "10",
});

export const toDraft = ({ rules = [], split }: FullLink): Draft => ({
  rules: rules.map(({ id, url, conditions }) => ({
    key: id,
    id,
    url,
    conditions: conditions.map(toConditionDraft),
  })),
  arms: (split?.arms ?? []).map(({ id, label = "", url, weight }) => ({
    key: id,
    id,
    label,
    url,
    weight: String(weight),
  })),
  until: toLocalTime(split?.until ?? null),
  storedUntil: split?.until ?? null,
});

function toConditionDraft(condition: ApiCondition): ConditionDraft {
  const not = condition.not ?? false;
  const draft = { ...newCondition(condition.type), not, stored: condition };
  switch (condition.type) {
    case "time":
      return {
        ...draft,
        from: toLocalTime(condition.from ?? null),
        until: toLocalTime(condition.until ?? null),
      };
    case "schedule": {
      const { from, to, days, timezone } = condition;
      return { ...draft, from, until: to, days, timeZone: timezone };
    }
    case "query":
      return { ...draft, name: condition.name, values: (condition.in ?? []).join(", ") };
    default:
      return { ...draft, values: toNames(condition.type, condition.in) };
  }
}

/** What inputs show of a condition. */
const shownOf = ({ key: _key, stored: _stored, ...shown }: ConditionDraft): string =>
  JSON.stringify(shown);

/**
 * Converts a condition to the API's form; the schema validates it. One that nobody has changed
 * stays as it is: inputs show neither seconds, nor an empty value, nor which commas belong to one.
 */
function toCondition(draft: ConditionDraft): Record<string, unknown> {
  const { type, not, values, name, from, until, timeZone, days, stored } = draft;
  if (stored !== undefined && shownOf(draft) === shownOf(toConditionDraft(stored))) return stored;
  const common = { type, ...(not ? { not } : {}) };
  const list = toCodes(type, values);
  switch (type) {
    case "time":
      return {
        ...common,
        ...(from === "" ? {} : { from: toInstant(from) }),
        ...(until === "" ? {} : { until: toInstant(until) }),
      };
    case "schedule":
      return { ...common, timezone: timeZone, days, from, to: until };
    case "query":
      return { ...common, name: name.trim(), ...(list.length === 0 ? {} : { in: list }) };
    default:
      return { ...common, in: list };
  }
}

const withId = (id: string | undefined) => (id === undefined ? {} : { id });

/**
 * Messages by path in the draft: `rules.0.url`, `rules.0.conditions.1`, `arms.2.weight`,
 * `until`.
 */
export type DraftErrors = Readonly<Record<string, string>>;

/** The fields of a PATCH. */
export type RulesChange = {
  rules: z.output<typeof rulesField>;
  split: z.output<typeof splitField> | null;
};

/** Returns the request body of a draft, or its problems by the API's rules. */
export function readDraft({
  rules,
  arms,
  until,
  storedUntil,
}: Draft): { change: RulesChange } | { errors: DraftErrors } {
  const errors: Record<string, string> = {};
  const note = (place: string, message: string) => {
    errors[place] ??= describeRule(message);
  };
  for (const [list, entries] of Object.entries({ rules, arms })) {
    for (const [i, { url }] of entries.entries()) {
      const parsed = parseWebUrl(url);
      if ("problem" in parsed)
        note(`${list}.${i}.url`, url === "" ? t("ui.required") : parsed.problem);
    }
  }
  const parsedRules = rulesField.safeParse(
    rules.map(({ id, url, conditions }) => ({
      ...withId(id),
      url,
      conditions: conditions.map(toCondition),
    })),
    { error: describeIssue },
  );
  for (const { path, message } of parsedRules.error?.issues ?? []) {
    note(["rules", ...path].slice(0, 4).join("."), message);
  }
  const parsedSplit = splitField.nullable().safeParse(
    arms.length === 0
      ? null
      : {
          arms: arms.map(({ id, label, url, weight }) => ({
            ...withId(id),
            ...(label.trim() === "" ? {} : { label }),
            url,
            weight: Number(weight),
          })),
          until: until === "" ? null : toInstant(until, storedUntil),
        },
    { error: describeIssue },
  );
  for (const { path, message } of parsedSplit.error?.issues ?? []) {
    note(path.slice(0, 3).join("."), message);
  }
  if (parsedRules.data === undefined || parsedSplit.data === undefined) return { errors };
  if (Object.keys(errors).length > 0) return { errors };
  return { change: { rules: parsedRules.data, split: parsedSplit.data } };
}

/** Returns the list with an entry moved to another position. */
export function moveEntry<Entry>(list: readonly Entry[], from: number, to: number): Entry[] {
  const moved = [...list];
  moved.splice(to, 0, ...moved.splice(from, 1));
  return moved;
}
