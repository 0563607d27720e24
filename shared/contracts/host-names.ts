/**
 * Names of hosts as people type and read them: `bücher.de` for `xn--bcher-kva.de`, unless it looks
 * like another name.
 */
import { decode } from "punycode.js";

import { decodeAliasPath, isAlias } from "./alias.ts";
import { trimInvisible } from "./text.ts";

/** Labels that do not look like others: of one script, or of scripts that are written together. */
const ALPHABETS: readonly RegExp[] = [
  // Letters of European languages, without phonetic letters, which resemble others.
  /^[-0-9a-zß-öø-ÿāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįĵķĺļľłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷźżž]+$/u,
  /^[-0-9\p{Script=Cyrillic}]+$/u,
  /^[-0-9\p{Script=Greek}]+$/u,
  /^[-0-9\p{Script=Arabic}]+$/u,
  /^[-0-9\p{Script=Hebrew}]+$/u,
  /^[-0-9\p{Script=Devanagari}]+$/u,
  /^[-0-9\p{Script=Thai}]+$/u,
  /^[-0-9\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]+$/u,
  /^[-0-9\p{Script=Han}\p{Script=Hangul}]+$/u,
];

/**
 * Cyrillic and Greek labels that consist of letters which resemble Latin ones, after Chromium's
 * lists.
 */
const LOOK_ALIKES: readonly RegExp[] = [
  /^[-0-9аысԁеԍһіюјӏорԗԛѕԝхуъьҽпгѵѡ]+$/u,
  /^[-0-9αικνρυωηοτ]+$/u,
];

/**
 * Returns a host name with the Unicode of its `xn--` labels; labels that resemble others stay as
 * they are.
 */
export const readableHost = (host: string): string => host.split(".").map(readableLabel).join(".");

/** Returns a short URL without its scheme, with a readable host and alias. */
export function readableUrl(url: string): string {
  const [host = "", ...path] = url.replace(/^https?:\/\//, "").split("/");
  const alias = decodeAliasPath(path.join("/"));
  return [readableHost(host), ...(isAlias(alias) ? [alias] : path)].join("/");
}

/** Returns a URL with a readable host, as it is but for that. */
export const withReadableHost = (url: string): string =>
  url.replace(/^(https?:\/\/)?([^/]+)/, (_, scheme: string | undefined, host: string) =>
    [scheme, readableHost(host)].join(""),
  );

/** The most characters of a label (RFC 1035). */
const LABEL_LENGTH_MAX = 63;

function readableLabel(label: string): string {
  if (!/^xn--/i.test(label) || label.length > LABEL_LENGTH_MAX) return label;
  const text = decodePunycode(label.slice(4).toLowerCase());
  const isReadable =
    text !== undefined &&
    encodeHost(text) === label.toLowerCase() &&
    ALPHABETS.some((alphabet) => alphabet.test(text)) &&
    !LOOK_ALIKES.some((letters) => letters.test(text));
  return isReadable ? text : label;
}

/** The host that a browser opens for a text (UTS #46); undefined when it is no host. */
function encodeHost(text: string): string | undefined {
  try {
    return new URL(`http://${text}`).hostname;
  } catch {
    return undefined;
  }
}

/** Decodes the text after `xn--`; undefined if it is not Punycode. */
function decodePunycode(text: string): string | undefined {
  try {
    return decode(text);
  } catch {
    return undefined;
  }
}

// Names of hosts as people type and paste them.

/**
 * Maximum characters of a host that is converted: a name has 253 in ASCII (RFC 1035 §2.3.4), and
 * the conversion's time grows with the square of the labels.
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
