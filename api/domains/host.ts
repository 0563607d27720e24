/** Custom domains: which names can be one. */
import { isIP } from "node:net";
import { domainToASCII } from "node:url";

import { parse } from "tldts";

/** RFC 1035 §2.3.4: 255 octets on the wire are 253 characters. */
const HOST_LENGTH_MAX = 253;

const URL_MARKS = /[/\\?#@:%\s]/;
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Reads a domain name: in lower case, international names in their ASCII form. Gives the reason, as a
 * sentence, when it cannot be a custom domain.
 */
export function parseDomain(text: string): { host: string } | { problem: string } {
  const name = text.trim().toLowerCase();
  // The conversion would drop what follows a host in a URL.
  const host = URL_MARKS.test(name) ? "" : domainToASCII(name).replace(/\.$/, "");
  const labels = host.split(".");
  if (host.length > HOST_LENGTH_MAX || labels.length < 2 || !labels.every((l) => LABEL.test(l))) {
    return { problem: "must be a full domain name such as go.example.com" };
  }
  if (isIP(host) !== 0) return { problem: "must be a domain name, not an address" };
  const { domain } = parse(host, { allowPrivateDomains: true });
  if (domain === null) return { problem: "must be a domain that can be registered" };
  return { host };
}
