import { expect, test } from "bun:test";

import * as z from "zod";

import { validateWith } from "./validation.ts";

test.each([
  [z.string().min(1), "", "Required"],
  [z.string().min(3), "ab", "At least 3 characters"],
  [z.string().max(2), "abc", "At most 2 characters"],
  [z.array(z.string()).max(1), ["a", "b"], "At most 1 items"],
  [z.string().min(3, "must be long"), "ab", "Must be long"],
  [z.email(), "nobody", "Invalid email address"],
  [z.string().min(3), "abc", true],
] as const)("a field is validated with a message for its issue (%#)", (schema, value, expected) => {
  expect(validateWith(schema)(value)).toBe(expected);
});
