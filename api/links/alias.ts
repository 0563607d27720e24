/**
 * Generates aliases. The rules for aliases that clients choose are in `shared/contracts/alias.ts`.
 */
import { randomInt } from "node:crypto";

/**
 * Letters and digits, without look-alikes (0 O 1 l I) and without vowels, so that no words appear.
 */
const ALPHABET = "23456789bcdfghjkmnpqrstvwxyzBCDFGHJKLMNPQRSTVWXYZ";

/** Length of generated aliases before any collision: 49^7 is about 6.8 × 10^11. */
export const GENERATED_LENGTH = 7;

/** Generates an alias of `length` characters from the system's secure random source. */
export const generateAlias = (length: number): string =>
  Array.from({ length }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join("");

/** Collisions of generated aliases after which the next ones get one character longer. */
const COLLISIONS_BEFORE_LONGER = 3;

/** Maximum collisions in a row. */
export const COLLISIONS_MAX = 12;

/** Additional characters where case is ignored: 29^9 is about 1.5 × 10^13. */
const FOLDED_EXTRA_LENGTH = 2;

/** The length of the next alias after this number of collisions; longer where case is ignored. */
export const lengthAfter = (collisions: number, { folded }: { folded: boolean }): number =>
  GENERATED_LENGTH +
  (folded ? FOLDED_EXTRA_LENGTH : 0) +
  Math.floor(collisions / COLLISIONS_BEFORE_LONGER);
