/**
 * Truncates a text to `lengthMax` UTF-16 units. A lone surrogate at the end becomes U+FFFD:
 * ClickHouse rejects JSON with one, and with it the whole segment.
 */
export const truncateText = (text: string, lengthMax: number): string =>
  text.slice(0, lengthMax).toWellFormed();
