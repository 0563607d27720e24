/** Adds a request header that the response depends on to `Vary`. */
export function addVary(headers: Record<string, string | number>, name: string): void {
  const { vary } = headers;
  headers["vary"] = vary === undefined ? name : `${vary}, ${name}`;
}
