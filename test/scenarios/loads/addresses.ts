/**
 * Loopback addresses as clients' addresses: floods and visitors come from many, none of which
 * reaches its cap.
 */

/** Connections of one address; far below `CONNECTIONS_PER_ADDRESS_MAX`. */
const PER_ADDRESS = 50;

/** Returns the address of a flood's `index`-th connection: one of 127.1.0.0 to 127.254.255.255. */
export function floodAddress(index: number): string {
  const n = Math.floor(index / PER_ADDRESS) % (254 * 65_536);
  return `127.${1 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}`;
}

/**
 * Returns the address of a visitor's `index`-th click, which no flood uses: one of 127.0.1.1 to
 * 127.0.250.250.
 */
export const visitorAddress = (index: number): string =>
  `127.0.${1 + (Math.floor(index / 250) % 250)}.${1 + (index % 250)}`;
