/** Values that several examples share, so that the examples of a resource fit together. */

export const LINK_ID = "link_01k9z3v6x7e8w9r0t1y2n3h4m5";
export const DOMAIN_ID = "dom_01k9z3v6x7e8w9r0t1y2n3h4m5";
export const RULE_ID = "rule_01k9z3v6x7e8w9r0t1y2n3h4m5";
export const SHARE_ID = "shr_01k9z3v6x7e8w9r0t1y2n3h4m5";
export const KEY_ID = "key_01k9z3v6x7e8w9r0t1y2n3h4m5";

export const CREATED_AT = "2026-03-02T09:15:00.000Z";
export const EXPIRES_AT = "2030-01-01T00:00:00.000Z";
export const LONG_URL = "https://example.com/spring/sale?ref=newsletter";

/** The token of a share, shortened. */
export const SHARE_TOKEN = "mWq2…";

/** An opaque position in a list. */
export const CURSOR = "MTc3MjQ0MjkwMDAwMC5saW5r";

/** An id by the TypeID specification: a prefix, and a UUIDv7 in Crockford's base 32. */
export const idPattern = (prefix: string): string => `^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`;

/** An image of one pixel. */
export const LOGO =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
