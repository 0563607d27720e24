/**
 * Adds parameters to the query of a URL and takes some away, such as those of UTM, without writing
 * the others anew: signatures cover their bytes, and servers read them in encodings and forms of
 * their own.
 */
import { UTM_NAMES, type UtmName } from "./analytics.ts";

/** A URL in its parts: up to the query, the parameters of the query, and from the fragment on. */
export type UrlParts = { beginning: string; parameters: string[]; fragment: string };

/** Splits a URL. What is between two `&` is a parameter, also nothing. */
export function splitUrl(url: string): UrlParts {
  const [beforeFragment, fragment] = splitAt(url, "#");
  const [beginning, query] = splitAt(beforeFragment, "?");
  return { beginning, parameters: query.length < 2 ? [] : query.slice(1).split("&"), fragment };
}

/** The URL of the parts, with further parameters: the text of a query. */
export function joinUrl({ beginning, parameters, fragment }: UrlParts, added: string): string {
  const own = parameters.join("&");
  const separator = own === "" || own.endsWith("&") ? "" : "&";
  return `${beginning}?${own}${separator}${added}${fragment}`;
}

/**
 * The decoded name of a parameter, with one character for each byte: so names in other encodings
 * than UTF-8 stay different.
 */
export function parameterName(parameter: string): string {
  const equals = parameter.indexOf("=");
  const name = equals < 0 ? parameter : parameter.slice(0, equals);
  return name.includes("%") || name.includes("+") ? decodeName(name) : name;
}

const decodeName = (name: string): string =>
  name
    .replaceAll("+", " ")
    .replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );

/** Splits a text before the first `separator`. */
function splitAt(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at)];
}

export { UTM_NAMES, type UtmName };

/** Length of the longest name with every character percent-encoded. */
const ENCODED_LENGTH_MAX = 3 * Math.max(...UTM_NAMES.map(({ length }) => length));

/** The UTM name of a parameter; undefined for another one, of which a query may have thousands. */
export function utmNameOf(parameter: string): UtmName | undefined {
  const equals = parameter.indexOf("=");
  if ((equals < 0 ? parameter.length : equals) > ENCODED_LENGTH_MAX) return undefined;
  const name = parameterName(parameter);
  return UTM_NAMES.find((utm) => utm === name);
}

/**
 * The UTM parameters of a URL as a query, byte for byte as they are there; undefined without any.
 */
export function readUtmQuery(url: string): string | undefined {
  // Most have none: neither the beginning of a name, nor a character that may be one of it.
  if (!url.includes("utm_") && !url.includes("%")) return undefined;
  const parameters = splitUrl(url).parameters.filter((one) => utmNameOf(one) !== undefined);
  return parameters.length === 0 ? undefined : parameters.join("&");
}
