/**
 * The rules of a link as bytes, which requests evaluate as they are. Rules that had to be compiled
 * first would cost their links' visitors, and all others, as much as the links' owner likes: a
 * redirector has more links than it can keep compiled.
 *
 * One rule after another, lengths little-endian:
 *   u32 bytes of the rule, u16 length of id, id, u16 length of URL, URL, then its conditions, each
 *   u32 bytes of the condition, and the rest as `conditions.ts` writes it
 */
import { type ByteSlice, copySlice, toSlice, truncateText } from "../bytes.ts";
import type { Rule, StoredRules } from "../contracts/redirect-settings.ts";
import type { Uuid } from "../ids.ts";
import { ByteWriter, u16At, u32At } from "./byte-writer.ts";
import { explainCondition, matchesCondition, writeCondition } from "./conditions.ts";
import type { RequestFacts } from "./facts.ts";

/**
 * Maximum length of a request's value in an explanation, the same as that of a condition's values.
 */
const ACTUAL_LENGTH_MAX = 255;

const SIZE_BYTES = 4;

export type RuleExplanation = {
  id: string;
  url: string;
  matched: boolean;
  /** `actual` is the value of the request, perhaps truncated; null when it is unknown. */
  conditions: { type: string; matched: boolean; actual: string | null }[];
};

type RuleTarget = { kind: "rule"; id: Uuid; url: string };

export class EncodedRules implements StoredRules {
  readonly #slice: ByteSlice;

  /** Rules that {@link encodeRules} wrote. */
  constructor(slice: ByteSlice) {
    this.#slice = slice;
  }

  /** The target of the first rule whose conditions all match. */
  choose(facts: RequestFacts): RuleTarget | undefined {
    const { bytes, start, end } = this.#slice;
    for (let at = start; at < end; at += u32At(bytes, at))
      if (matchesRule(facts, bytes, at)) return { kind: "rule", ...readRule(bytes, at) };
    return undefined;
  }

  /**
   * Every rule with its conditions, up to the first that matches, in order; each as it is asked
   * for.
   */
  *explain(facts: RequestFacts): Iterable<RuleExplanation> {
    const { bytes, start, end } = this.#slice;
    for (let at = start; at < end; at += u32At(bytes, at)) {
      const explained = explainRule(facts, bytes, at);
      yield explained;
      if (explained.matched) return;
    }
  }

  urls(): string[] {
    const { bytes, start, end } = this.#slice;
    const urls: string[] = [];
    for (let at = start; at < end; at += u32At(bytes, at)) urls.push(readRule(bytes, at).url);
    return urls;
  }

  toJSON(): never {
    throw new Error("Encoded rules are no part of a message.");
  }

  /** A copy that stays valid when the bytes are reused. */
  copy(): EncodedRules {
    return new EncodedRules(copySlice(this.#slice));
  }

  size(): number {
    return this.#slice.end - this.#slice.start;
  }

  writeTo(target: Buffer, at: number): void {
    const { bytes, start, end } = this.#slice;
    bytes.copy(target, at, start, end);
  }
}

/** Encodes rules. Throws for values that the API rejects. */
export function encodeRules(rules: readonly Rule[] | StoredRules): EncodedRules {
  if (rules instanceof EncodedRules) return rules;
  if ("urls" in rules) throw new TypeError("Rules are stored in a form that is not known.");
  const writer = new ByteWriter();
  for (const { id, url, conditions } of rules)
    writer.sized(() => {
      writer.text(id);
      writer.text(url);
      for (const condition of conditions) writer.sized(() => writeCondition(writer, condition));
    });
  return new EncodedRules(toSlice(writer.done()));
}

/** Offset of a rule's URL, after its length. */
const urlAt = (bytes: Buffer, at: number): number =>
  at + SIZE_BYTES + 2 + u16At(bytes, at + SIZE_BYTES) + 2;

function readRule(bytes: Buffer, at: number): { id: string; url: string } {
  const url = urlAt(bytes, at);
  return {
    id: bytes.toString("utf8", at + SIZE_BYTES + 2, url - 2),
    url: bytes.toString("utf8", url, url + u16At(bytes, url - 2)),
  };
}

/** Offset of a rule's conditions. */
function conditionsAt(bytes: Buffer, at: number): number {
  const url = urlAt(bytes, at);
  return url + u16At(bytes, url - 2);
}

function matchesRule(facts: RequestFacts, bytes: Buffer, rule: number): boolean {
  const end = rule + u32At(bytes, rule);
  for (let at = conditionsAt(bytes, rule); at < end; at += u32At(bytes, at))
    if (!matchesCondition(facts, bytes, at + SIZE_BYTES, at + u32At(bytes, at))) return false;
  return true;
}

function explainRule(facts: RequestFacts, bytes: Buffer, rule: number): RuleExplanation {
  const end = rule + u32At(bytes, rule);
  const conditions: RuleExplanation["conditions"] = [];
  for (let at = conditionsAt(bytes, rule); at < end; at += u32At(bytes, at)) {
    const [from, to] = [at + SIZE_BYTES, at + u32At(bytes, at)];
    const { type, actual } = explainCondition(facts, bytes, from, to);
    const matched = matchesCondition(facts, bytes, from, to);
    conditions.push({ type, matched, actual: shorten(actual) });
  }
  const matched = conditions.every((condition) => condition.matched);
  return { ...readRule(bytes, rule), matched, conditions };
}

/** Truncates a text, and marks that with `…`. */
const shorten = (text: string | null): string | null =>
  text !== null && text.length > ACTUAL_LENGTH_MAX
    ? `${truncateText(text, ACTUAL_LENGTH_MAX - 1)}…`
    : text;
