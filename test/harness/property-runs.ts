import { test } from "bun:test";

/**
 * The short and the long form of tests. `npm test` tries a part of the random cases of a property,
 * and leaves out what takes seconds; scenarios run the long form when a change can break it. The
 * seed is another one in each run, and a failure prints it.
 */

/** Set to 1 for the long form, which the scenarios run. */
export const LONG = process.env["SHORTHOP_TEST_LONG"] === "1";

/** Part of the cases of the long form that a short one tries. */
const SHORT_PART = 10;

/** The number of cases: all of them in the long form. */
export const casesOf = (all: number, some = Math.ceil(all / SHORT_PART)): number =>
  LONG ? all : some;

/** A test that takes seconds: only the long form has it. */
export const longTest = test.skipIf(!LONG);
