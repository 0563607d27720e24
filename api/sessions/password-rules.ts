/**
 * Decides who may have a password, and rejects passwords that are easy to guess: a library (zxcvbn)
 * knows common ones and patterns.
 */
import { ZxcvbnFactory } from "@zxcvbn-ts/core";
import { adjacencyGraphs, dictionary } from "@zxcvbn-ts/language-common";

import { ApiError } from "../http/errors.ts";

/**
 * Maximum characters evaluated: the time grows with the cube of their number, up to 25 ms. A
 * password with a strong prefix is strong as a whole.
 */
const SCORED_LENGTH_MAX = 24;

/** Scores are 0 to 4; below 2, fewer than a million guesses are enough. */
const SCORE_MIN = 2;

/** The dictionary, once for a process: loading it takes a tenth of a second. */
let dictionaryOfProcess: ZxcvbnFactory | undefined;

export class PasswordRules {
  readonly #zxcvbn: ZxcvbnFactory;
  readonly #only: string | undefined;

  /**
   * Loads the dictionary unless this process has it: make one at process start. `only` is the
   * address of the only user who may have a password.
   */
  constructor(only?: string) {
    this.#only = only;
    this.#zxcvbn = dictionaryOfProcess ??= new ZxcvbnFactory({
      dictionary,
      graphs: adjacencyGraphs,
      maxLength: SCORED_LENGTH_MAX,
    });
  }

  /**
   * Throws `invalid_request` for a password that is easy to guess, including for someone who knows
   * `words` about its user.
   */
  requireStrong(password: string, words: readonly string[]): void {
    const guessable = words.flatMap((word) => [word, ...word.split(/[@.\s]+/)]);
    const { score } = this.#zxcvbn.check(password.slice(0, SCORED_LENGTH_MAX), guessable);
    if (score >= SCORE_MIN) return;
    throw new ApiError(
      "invalid_request",
      "The password is too easy to guess: common words, names and patterns are tried first.",
    );
  }

  /** Whether the user of an address may sign in with a password, or a passkey. */
  isAllowed(email: string): boolean {
    return this.#only === undefined || email.toLowerCase() === this.#only;
  }

  /** Throws `forbidden` for an address whose user may have no password. */
  requireAllowed(email: string): void {
    if (!this.isAllowed(email))
      throw new ApiError("forbidden", "Passwords are not used here: sign in with your provider.");
  }
}
