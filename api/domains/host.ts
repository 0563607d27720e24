/** Parses and validates the names of custom domains. */
import { isIP } from "node:net";
import { domainToASCII } from "node:url";

import { parse } from "tldts";

import { trimInvisible } from "../../shared/contracts/text.ts";

/** RFC 1035 §2.3.4: 255 octets on the wire are 253 characters. */
const HOST_LENGTH_MAX = 253;

/** Maximum characters before the conversion to ASCII, which never shortens a name. */
const TEXT_LENGTH_MAX = 255;

const URL_DELIMITERS = /[/\\?#@:%\s]/;
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

const NOT_A_DOMAIN = { problem: "must be a full domain name such as go.example.com" };

/**
 * Parses a domain name. Returns it in lower case, with internationalised names in their ASCII form.
 * Returns the problem when the name cannot be a custom domain.
 */
export function parseDomain(text: string): { host: string } | { problem: string } {
  if (text.length > TEXT_LENGTH_MAX) return NOT_A_DOMAIN;
  const name = trimInvisible(text).toLowerCase();
  // domainToASCII would silently drop a port, path or query.
  const host = URL_DELIMITERS.test(name) ? "" : domainToASCII(name).replace(/\.$/, "");
  const labels = host.split(".");
  if (
    host.length > HOST_LENGTH_MAX ||
    labels.length < 2 ||
    !labels.every((label) => LABEL.test(label))
  ) {
    return NOT_A_DOMAIN;
  }
  if (isIP(host) !== 0) return { problem: "must be a domain name, not an address" };
  const { domain } = parse(host, { allowPrivateDomains: true });
  if (domain === null) return { problem: "must be a domain that can be registered" };
  return { host };
}
