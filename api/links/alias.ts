/** Generates aliases. The rules for aliases that clients choose are in `shared/contracts/alias.ts`. */
import { randomInt } from "node:crypto";

/** Letters and digits, without look-alikes (0 O 1 l I) and without vowels, so that no words appear. */
const ALPHABET = "23456789bcdfghjkmnpqrstvwxyzBCDFGHJKLMNPQRSTVWXYZ";

/** Length of generated aliases before any collision: 49^7 is about 6.8 × 10^11. */
export const GENERATED_LENGTH = 7;

/** Generates an alias of `length` characters from the system's secure random source. */
export const generateAlias = (length: number): string =>
  Array.from({ length }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join("");
