/**
 * Says why the API refuses a request, or would refuse a value by its schema, and names its fields,
 * in the language of the page.
 */
import type * as z from "zod";

import { ShorthopError } from "../../../clients/typescript/src/index.ts";
import { invalidValue } from "../../../shared/contracts/errors.ts";
import { fallbackCatalogue, findText, getLanguage, t, type TextKey } from "./translate.ts";

export const isSignedOut = (error: unknown): boolean =>
  error instanceof ShorthopError && error.status === 401;

export const isNotFound = (error: unknown): boolean =>
  error instanceof ShorthopError && error.status === 404;

export const isRateLimited = (error: unknown): boolean =>
  error instanceof ShorthopError && error.code === "rate_limited";

/** Says why a call failed: what the API responded, or that there was no response. */
export function getErrorMessage(error: unknown): string {
  return error instanceof ShorthopError && error.status > 0
    ? describeError(error)
    : t("data.unreachable");
}

/** An error of the API: of a call, or of one of many links. */
export type ServiceError = {
  code: string;
  message: string;
  param?: string | undefined;
  retryAfterSeconds?: number | undefined;
};

/**
 * Says what an error says. The API's own message is English, and the most precise; in another
 * language, and of a response that is not the API's, it is the sentence of the message or of the
 * code. A message without either stays as it is: it says more than none.
 */
export function describeError({ code, message, param, retryAfterSeconds }: ServiceError): string {
  const problem = param === undefined ? undefined : problemOf(message, param);
  if (param !== undefined && problem !== undefined) {
    return t("data.invalidValue", { param: fieldName(param), problem: translateSentence(problem) });
  }
  const isPlain = getLanguage() === "en" && code !== "unknown";
  const translated = isPlain ? message : findTranslation(message);
  if (translated !== undefined) return translated;
  return code === "rate_limited" && retryAfterSeconds !== undefined
    ? t("data.retryAfter", { seconds: retryAfterSeconds })
    : (findText(`data.codes.${code}`) ?? message);
}

/** The problem that a message names of the value of a field; undefined for another message. */
function problemOf(message: string, param: string): string | undefined {
  const [start = "", end = ""] = invalidValue(param, "\0").split("\0");
  if (!message.startsWith(start)) return undefined;
  const problem = message.slice(start.length);
  const withoutEnd = problem.slice(0, -end.length);
  // A problem can be a whole sentence, as that of a URL. A form that ends with a value, as
  // `must be at most {max}`, finds the end in it: it goes first.
  const known = [withoutEnd, problem].find((text) => findTranslation(text) !== undefined);
  return known ?? withoutEnd;
}

/** Translates a sentence of the API or its schemas; one that is not known stays as it is. */
export const translateSentence = (sentence: string): string =>
  findTranslation(sentence) ?? sentence;

function findTranslation(sentence: string): string | undefined {
  const key = SENTENCE_KEYS.get(sentence);
  if (key !== undefined) return t(key);
  for (const { key, form } of SENTENCE_FORMS) {
    const values = form.exec(sentence)?.groups;
    if (values !== undefined) return t(key, values);
  }
  return undefined;
}

const SENTENCE_KEYS: ReadonlyMap<string, TextKey> = new Map(
  Object.entries(fallbackCatalogue.service).map(([name, sentence]) => [
    sentence,
    // Object.entries loses the type of the names.
    `service.${name}` as TextKey,
  ]),
);

/** The sentences with values, as `{max}`, in forms that find these; the most precise one first. */
const SENTENCE_FORMS: readonly { key: TextKey; form: RegExp }[] = [...SENTENCE_KEYS]
  .filter(([sentence]) => sentence.includes("{"))
  .toSorted(([one], [other]) => other.length - one.length)
  .map(([sentence, key]) => ({ key, form: toForm(sentence) }));

function toForm(sentence: string): RegExp {
  const parts = sentence.split(/\{(\w+)\}/).map((part, i) =>
    // Names of values are between the texts.
    i % 2 === 1 ? `(?<${part}>.+?)` : part.replaceAll(/[$()*+.?[\\\]^|]/g, "\\$&"),
  );
  return new RegExp(`^${parts.join("")}$`);
}

/**
 * The name of a field by its path: `tags.0` is the first of the tags, and `preview.image` is the
 * image of the preview. A path that the page does not know stays as it is.
 */
export function fieldName(path: string): string {
  const parts = path.split(".");
  const names = parts.map((part) => {
    if (/^\d+$/.test(part)) return String(Number(part) + 1);
    return findText(`fields.${part}`);
  });
  const [first] = names;
  if (first === undefined || /^\d/.test(first)) return path;
  // What is within a rule or a card may have a name that only its schema knows.
  return names
    .filter((name) => name !== undefined)
    .join(" › ")
    .replaceAll(/ › (\d+)/g, " $1");
}

/** Creates a `validate` function for react-hook-form, which returns true or the error message. */
export const validateWith =
  (schema: z.ZodType) =>
  (value: unknown): true | string => {
    const { error } = schema.safeParse(value, { error: describeIssue });
    return error === undefined || describeRule(error.issues[0]?.message ?? t("ui.rule.invalid"));
  };

/**
 * An error map for `safeParse`: describes an issue by its code, as text for a form field. A message
 * that the schema itself sets takes precedence; undefined leaves the message to Zod.
 */
export function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === "invalid_type" && NUMBERS.has(issue.expected)) return t("ui.rule.wholeNumber");
  if (issue.code !== "too_small" && issue.code !== "too_big") return undefined;
  if (NUMBERS.has(issue.origin)) {
    return issue.code === "too_big"
      ? t("ui.rule.max", { max: Number(issue.maximum) })
      : t("ui.rule.min", { min: Number(issue.minimum) });
  }
  const texts = LENGTH_TEXTS[issue.origin];
  if (texts === undefined) return undefined;
  if (issue.code === "too_big") return t(texts.max, { max: Number(issue.maximum) });
  return issue.minimum === 1 ? t("ui.required") : t(texts.min, { min: Number(issue.minimum) });
}

/** Zod's names of numbers; every number that users enter is an integer. */
const NUMBERS: ReadonlySet<string> = new Set(["number", "int"]);

/** The texts about too much and too little of what is counted. */
const LENGTH_TEXTS: Readonly<Record<string, { max: TextKey; min: TextKey }>> = {
  string: { max: "ui.rule.charactersMax", min: "ui.rule.charactersMin" },
  array: { max: "ui.rule.itemsMax", min: "ui.rule.itemsMin" },
};

/** Turns a message of the API's schemas into a sentence for a form, in the language of the page. */
export function describeRule(message: string): string {
  const text = translateSentence(message);
  return text.charAt(0).toUpperCase() + text.slice(1);
}
