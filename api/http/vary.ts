/** Adds to `Vary` what an answer depends on beside what is named there already. */
export function addVary(headers: Record<string, string | number>, name: string): void {
  const { vary } = headers;
  headers["vary"] = vary === undefined ? name : `${vary}, ${name}`;
}
