import { expect, test } from "bun:test";

import { Lookups } from "./lookups.ts";

/** More than a network may miss in a minute. */
const MANY = 200;

function lookUp(lookups: Lookups, found: boolean | undefined): boolean {
  const release = lookups.acquire("198.51.100.7");
  if (typeof release === "string") return false;
  release(found);
  return true;
}

test("look-ups that fail do not use up the allowance of their address, misses do", () => {
  const lookups = new Lookups();
  for (let i = 0; i < MANY; i++) expect(lookUp(lookups, undefined)).toBe(true);
  const answered = Array.from({ length: MANY }, () => lookUp(lookups, false));
  expect(answered[0]).toBe(true);
  expect(answered.at(-1)).toBe(false);
  expect(lookups.stats().outcomes.failed).toBe(MANY);
});
