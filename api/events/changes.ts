/** What changed between two states of a resource. */
import type { JSONValue } from "postgres";

type Fields = Readonly<Record<string, unknown>>;

/** The fields that differ, each before and after; null stands for an absent one. */
export function changesBetween(
  before: Fields,
  after: Fields,
  ignored: readonly string[] = [],
): Record<string, { before: JSONValue; after: JSONValue }> {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = [...names].filter(
    (name) => !ignored.includes(name) && !Bun.deepEquals(before[name], after[name]),
  );
  return Object.fromEntries(
    changed.map((name) => [name, { before: toValue(before[name]), after: toValue(after[name]) }]),
  );
}

const toValue = (value: unknown): JSONValue => JSON.parse(JSON.stringify(value ?? null));
