/** Sets a link's UTM parameters on the query of its destination. */
import { joinUrl, splitUrl } from "../../shared/contracts/query-string.ts";
import { UTM_NAMES, type UtmName, utmNameOf } from "../../shared/contracts/utm.ts";

export type Utm = Record<UtmName, string | null>;

/**
 * Sets the UTM values on `href`, replacing parameters of the same names. The rest of the query
 * stays byte for byte the same.
 */
export function applyUtm(href: string, utm: Utm): string {
  const values = UTM_NAMES.flatMap((name): [string, string][] => {
    const value = utm[name];
    return value === null ? [] : [[name, value]];
  });
  if (values.length === 0) return href;
  const url = splitUrl(href);
  const others = url.parameters.filter((parameter) => {
    const name = utmNameOf(parameter);
    return name === undefined || utm[name] === null;
  });
  return joinUrl({ ...url, parameters: others }, new URLSearchParams(values).toString());
}
