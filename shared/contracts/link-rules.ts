/** Schemas of rules, as requests set them and as the API returns them. */
import * as z from "zod";

import { browserName, systemName } from "../agent-names.ts";
import { findCountryProblem } from "../countries.ts";
import { component, strictComponent } from "./components.ts";
import { RULE_ID } from "./examples.ts";
import { toReferringSite } from "./host-names.ts";
import { destination } from "./link-fields.ts";
import { exactText, instant, plainText } from "./text-schemas.ts";

/** Maximum rules of a link, conditions of a rule, and values of a condition. */
const RULES_MAX = 20;
const CONDITIONS_MAX = 10;
const VALUES_MAX = 50;

/**
 * Maximum values of all conditions of a link: a redirector may compare all of them for a request.
 */
const LINK_VALUES_MAX = 1_000;

/** Maximum characters of an id, of a name, and of a value. */
const ID_LENGTH_MAX = 40;
const NAME_LENGTH_MAX = 100;
const VALUE_LENGTH_MAX = 255;
/** A language tag that browsers send has few of BCP 47's subtags. */
const LANGUAGE_LENGTH_MAX = 35;

/** Codes of continents in GeoIP data. */
export const CONTINENTS = ["AF", "AN", "AS", "EU", "NA", "OC", "SA"] as const;

/** Kinds of devices. */
export const DEVICES = ["mobile", "desktop", "tablet", "other"] as const;

const not = z
  .boolean()
  .optional()
  .meta({ description: "Whether the condition is negated.", examples: [true] });

const listOf = <Value extends z.ZodType>(value: Value) => z.array(value).min(1).max(VALUES_MAX);

const text = plainText(VALUE_LENGTH_MAX).trim().min(1);

const country = z
  .string()
  .regex(/^[A-Za-z]{2}$/, "expected an ISO 3166-1 code of two letters")
  .overwrite((code) => code.toUpperCase());

const language = z
  .string()
  .max(LANGUAGE_LENGTH_MAX)
  .regex(/^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$/, "expected a language tag such as de or pt-BR")
  .overwrite((tag) => tag.toLowerCase());

const referrer = text.overwrite(toReferringSite);

const block = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);

const address = plainText(VALUE_LENGTH_MAX).refine(
  (value) => block.safeParse(value).success,
  "expected an IP address or a CIDR block",
);

const timeZone = plainText(NAME_LENGTH_MAX).refine(
  isTimeZone,
  "expected a time zone such as Europe/Berlin",
);

function isTimeZone(name: string): boolean {
  // Temporal takes the zone of a whole date as well.
  if (!/^[A-Za-z+-]/.test(name)) return false;
  try {
    // Browsers may lack Temporal, which is the faster by far: a formatter reads all that there is
    // about its zone.
    if ("Temporal" in globalThis)
      Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name);
    else Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

const time = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, "expected a time such as 09:00");

const endTime = z
  .string()
  .regex(/^(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00)$/, "expected a time such as 17:30 or 24:00");

const typeOf = <Type extends string>(type: Type) =>
  z.literal(type).meta({ description: "The property of the request that the condition checks." });

const listed = <Type extends string, Value extends z.ZodType>(
  type: Type,
  value: Value,
  ...examples: string[]
) =>
  z.strictObject({
    type: typeOf(type),
    in: listOf(value).meta({
      description: "The condition matches when the value is one of these.",
      examples: [examples],
    }),
    not,
  });

const condition = z
  .discriminatedUnion("type", [
    listed("country", country, "DE", "AT"),
    listed("continent", z.enum(CONTINENTS), "EU"),
    listed("device", z.enum(DEVICES), "mobile"),
    listed("os", text.overwrite(systemName), "iOS"),
    listed("browser", text.overwrite(browserName), "Firefox"),
    listed("language", language, "de", "pt-br"),
    listed("referrer", referrer, "example.com", "direct"),
    listed("ip", address, "203.0.113.0/24"),
    z.strictObject({
      type: typeOf("query"),
      name: exactText(NAME_LENGTH_MAX)
        .min(1)
        .meta({ description: "The name of the short URL's parameter.", examples: ["lang"] }),
      in: listOf(exactText(VALUE_LENGTH_MAX))
        .optional()
        .meta({ description: "Its values; any when left out.", examples: [["de"]] }),
      not,
    }),
    z
      .strictObject({
        type: typeOf("time"),
        from: instant
          .optional()
          .meta({ description: "Matches from then on.", examples: ["2030-01-01T00:00:00Z"] }),
        until: instant
          .optional()
          .meta({ description: "Matches until then.", examples: ["2030-02-01T00:00:00Z"] }),
        not,
      })
      .refine(({ from, until }) => from !== undefined || until !== undefined, {
        path: ["from"],
        error: "expected from, until or both",
      })
      .refine(({ from = "", until = "" }) => !(Date.parse(until) <= Date.parse(from)), {
        path: ["until"],
        error: "expected an instant after from",
      }),
    z
      .strictObject({
        type: typeOf("schedule"),
        timezone: timeZone.meta({
          description: "An IANA time zone.",
          examples: ["Europe/Berlin"],
        }),
        days: z
          .array(z.int().min(1).max(7))
          .min(1)
          .max(7)
          .meta({ description: "Weekdays: 1 is Monday, 7 is Sunday." }),
        from: time.meta({ description: "The start.", examples: ["09:00"] }),
        to: endTime.meta({
          description: "The end, exclusive; earlier than `from` to run past midnight.",
          examples: ["17:30"],
        }),
        not,
      })
      .refine(({ from, to }) => from !== to, {
        path: ["to"],
        error: "expected another time than from",
      }),
  ])
  .meta({
    id: "LinkCondition",
    description: "A property that a request must have for the rule to match.",
  });

const conditions = z.array(condition).min(1).max(CONDITIONS_MAX);

const rule = strictComponent(
  "NewLinkRule",
  "A rule to set: another destination for some visitors.",
  {
    id: z
      .string()
      .max(ID_LENGTH_MAX)
      .optional()
      .meta({
        description:
          "The id of a rule that the link has, to keep its statistics; a new rule gets an id.",
        examples: [RULE_ID],
      }),
    url: destination,
    conditions: conditions.meta({
      description: "All must match.",
      examples: [[{ type: "os", in: ["iOS"] }]],
    }),
  },
);

type Rules = z.output<typeof rule>[];

const listConditions = (rules: Rules) =>
  rules.flatMap(({ conditions }, i) =>
    conditions.map((condition, j) => ({ condition, path: [i, "conditions", j] })),
  );

/** Too many values are an error of the condition that exceeds the limit. */
function checkNumberOfValues(rules: Rules, context: z.RefinementCtx): void {
  let values = 0;
  for (const { condition, path } of listConditions(rules)) {
    values += "in" in condition ? (condition.in?.length ?? 0) : 0;
    if (values <= LINK_VALUES_MAX) continue;
    const message = `the rules have more than ${LINK_VALUES_MAX} values`;
    context.addIssue({ code: "custom", path, message });
    return;
  }
}

/** A condition on a country that no visitor can have would never match, and its reverse always. */
function checkCountries(rules: Rules, context: z.RefinementCtx): void {
  for (const { condition, path } of listConditions(rules)) {
    if (condition.type !== "country") continue;
    for (const [k, code] of condition.in.entries()) {
      const message = findCountryProblem(code);
      if (message !== undefined)
        context.addIssue({ code: "custom", path: [...path, "in", k], message });
    }
  }
}

/**
 * Rules of a request. Links that have rules from before these checks keep them until they are set
 * again.
 */
export const rulesField = z
  .array(rule)
  .max(RULES_MAX)
  .superRefine(checkNumberOfValues)
  .superRefine(checkCountries);

/** Rules of a response, each with its id. */
export const rulesResponse = z.array(
  component("LinkRule", "Another destination for some visitors.", {
    id: z.string().meta({
      description: "The rule's id, by which its clicks are counted.",
      examples: [RULE_ID],
    }),
    url: destination,
    conditions: z.array(condition).meta({ description: "All must match." }),
  }),
);
