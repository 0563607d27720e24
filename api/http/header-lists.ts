/** Headers that are lists (RFC 9110 §5.6.1). */

/**
 * Characters of a list that are read, many times what any client sends: all that fit into a request
 * would take milliseconds.
 */
const LIST_LENGTH_MAX = 1_024;

/** The entries of a list, without blanks around them; what is beyond the bound is none. */
export const entriesOf = (list: string): string[] =>
  list
    .slice(0, LIST_LENGTH_MAX)
    .split(",")
    .map((entry) => entry.trim());
