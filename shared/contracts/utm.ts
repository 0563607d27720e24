/** UTM parameters: their names, their values, and those in the query of a URL. */
import { UTM_NAMES, type UtmName } from "./analytics.ts";
import { parameterName, splitUrl } from "./query-string.ts";
import { trimInvisible } from "./text.ts";

export { UTM_NAMES, type UtmName };

/** A value as it is stored and counted: what looks alike is one campaign. "" for blanks. */
export const toUtmValue = (text: string): string => trimInvisible(text).normalize("NFC");

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
  const parameters = splitUrl(url).parameters.filter((one) => utmNameOf(one) !== undefined);
  return parameters.length === 0 ? undefined : parameters.join("&");
}
