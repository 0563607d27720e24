/**
 * Converts between instants and the values of `datetime-local` inputs, which are local times
 * without a zone.
 */

/**
 * Converts a local time to an ISO 8601 instant. Returns invalid text unchanged, for validation to
 * reject.
 */
export function toInstant(local: string): string {
  const instant = new Date(local);
  return Number.isNaN(instant.getTime()) ? local : instant.toISOString();
}

/** Converts an ISO 8601 instant to the value of a `datetime-local` input. */
export function toLocalTime(instant: string | null): string {
  if (instant === null) return "";
  const at = new Date(instant);
  const shifted = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}
