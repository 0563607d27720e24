/** Headers that are lists (RFC 9110 §5.6.1). */

/**
 * Characters of a list that are read, many times what any client sends: all that fit into a request
 * would take milliseconds.
 */
const LIST_LENGTH_MAX = 1_024;

/** The entries of a list, without blanks around them; one that ends beyond the bound is none. */
export function entriesOf(list: string): string[] {
  const end = list.length > LIST_LENGTH_MAX ? list.lastIndexOf(",", LIST_LENGTH_MAX) : list.length;
  return list
    .slice(0, Math.max(0, end))
    .split(",")
    .map((entry) => entry.trim());
}
