/** Sentences of the API's errors that the dashboard takes apart to translate them. */

/** The message about the value of a field or parameter; `problem` is what the value must be. */
export const invalidValue = (param: string, problem: string): string =>
  `Invalid value for "${param}": ${problem}.`;
