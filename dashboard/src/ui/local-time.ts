/**
 * Time zones, and local times without one: the values of `datetime-local` inputs, converted from
 * and to instants.
 */

/**
 * Converts a local time to an ISO 8601 instant: to the `stored` one where its local time is still
 * the same, as that leaves out seconds, and which of two hours it was. Returns invalid text
 * unchanged, for validation to reject.
 */
export function toInstant(local: string, stored: string | null = null): string {
  if (stored !== null && toLocalTime(stored) === local) return stored;
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

/** The time zone of this device; UTC where the browser does not know it: it says `Etc/Unknown`. */
export function getLocalZone(): string {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  return isZone(timeZone) ? timeZone : "UTC";
}

export function isZone(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone }).format();
    return true;
  } catch {
    return false;
  }
}

/** All time zones, each once, with one that is chosen. */
export const listTimeZones = (chosen: string): string[] => [
  ...new Set(["UTC", chosen, ...Intl.supportedValuesOf("timeZone")]),
];
