/**
 * Values that the examples of several schemas share, so that the examples of a resource fit
 * together.
 */

/** A UUIDv7 in Crockford's base 32, as ids contain it after their prefix. */
const UUID = "01k9z3v6x7e8w9r0t1y2n3h4m5";

export const LINK_ID = `link_${UUID}`;
export const DOMAIN_ID = `dom_${UUID}`;
export const RULE_ID = `rule_${UUID}`;
export const ARM_ID = `arm_${UUID}`;
export const SHARE_ID = `shr_${UUID}`;
export const KEY_ID = `key_${UUID}`;
export const EVENT_ID = `event_${UUID}`;
export const WEBHOOK_ID = `wh_${UUID}`;
export const DELIVERY_ID = `dlv_${UUID}`;
export const REPORT_ID = `rpt_${UUID}`;
export const REQUEST_ID = "0195c2a4-7e1f-7000-8000-3f6d5b2c1a90";

export const CREATED_AT = "2026-03-02T09:15:00.000Z";
export const LAST_CLICK_AT = "2026-03-07T21:40:11.020Z";
export const EXPIRES_AT = "2030-01-01T00:00:00.000Z";
export const LONG_URL = "https://example.com/spring/sale?ref=newsletter";
export const SHORT_URL = "https://short.example.com/spring-sale";
export const CUSTOM_DOMAIN = "go.example.com";
export const TIME_ZONE = "Europe/Berlin";

/** The token of a share, shortened. */
export const SHARE_TOKEN = "mWq2…";

/** An opaque position in a list. */
export const CURSOR = "MTc3MjQ0MjkwMDAwMC5saW5r";

/** An image of one pixel. */
export const LOGO =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
