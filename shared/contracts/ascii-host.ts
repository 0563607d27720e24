/** Names of hosts as people type and paste them. */
import { trimInvisible } from "./text.ts";

/**
 * Most characters of a host that is converted: a name has 253 in ASCII (RFC 1035 §2.3.4), and the
 * conversion's time grows with the square of the labels.
 */
const LENGTH_MAX = 260;

/** A character that a host with a port cannot have. */
const NOT_IN_HOST = /[\s/\\?#@%]/;

const ASCII = /^[!-~]*$/;

/**
 * A host, perhaps with a port, as requests, DNS and all that is stored have it: in lower case, in
 * ASCII (`xn--bcher-kva.de` for `Bücher.de`), and without a dot at its end.
 */
export function toAsciiHost(text: string): string {
  const host = trimInvisible(text).toLowerCase();
  const isConverted = !ASCII.test(host) && host.length <= LENGTH_MAX && !NOT_IN_HOST.test(host);
  const ascii = isConverted ? URL.parse(`http://${host}`)?.host : undefined;
  return (ascii ?? host).replace(/\.(?=:\d+$|$)/, "");
}

/** The site of a referrer as clicks have it, also of a page's URL. */
export function toReferringSite(text: string): string {
  const [host = ""] = trimInvisible(text)
    .replace(/^(?:https?|android-app):\/\//i, "")
    .split(/[/?#]/, 1);
  return toAsciiHost(host).replace(/^www\./, "");
}
