/** Sets a link's UTM parameters on the query of its destination. */

export type Utm = {
  utm_source: string | null;
  utm_medium: string | null;
  utm_campaign: string | null;
  utm_term: string | null;
  utm_content: string | null;
};

const UTM_FIELDS = [
  "utm_source",
  "utm_medium",
  "utm_campaign",
  "utm_term",
  "utm_content",
] as const satisfies readonly (keyof Utm)[];

/** The UTM values of a link as a query; undefined without any. */
export function toUtmQuery(utm: Utm): string | undefined {
  const values = valuesOf(utm);
  return values.length === 0 ? undefined : new URLSearchParams(values).toString();
}

const valuesOf = (utm: Utm): [string, string][] =>
  UTM_FIELDS.flatMap((name): [string, string][] => {
    const value = utm[name];
    return value === null ? [] : [[name, value]];
  });

/**
 * Sets the UTM values on `href`, replacing parameters of the same names. The rest of the query
 * stays byte for byte the same: re-encoding could break a signed URL.
 */
export function applyUtm(href: string, utm: Utm): string {
  const values = valuesOf(utm);
  if (values.length === 0) return href;
  const names = new Set(values.map(([name]) => name));
  const [beforeHash, hash] = splitAt(href, "#");
  const [path, query] = splitAt(beforeHash, "?");
  const others = query
    .slice(1)
    .split("&")
    .filter((part) => part !== "" && !names.has(readParameterName(part)));
  return `${path}?${[...others, new URLSearchParams(values).toString()].join("&")}${hash}`;
}

function splitAt(text: string, separator: string): [string, string] {
  const index = text.indexOf(separator);
  return index === -1 ? [text, ""] : [text.slice(0, index), text.slice(index)];
}

/** Length of the longest name with every character percent-encoded. */
const ENCODED_LENGTH_MAX = 3 * Math.max(...UTM_FIELDS.map(({ length }) => length));
const LENGTH_MIN = Math.min(...UTM_FIELDS.map(({ length }) => length));

/**
 * The name of a parameter; decoded only if its length fits a UTM name, because a query may have
 * thousands.
 */
function readParameterName(part: string): string {
  const [name] = splitAt(part, "=");
  const mayBeUtm = name.length >= LENGTH_MIN && name.length <= ENCODED_LENGTH_MAX;
  return mayBeUtm && name.includes("%") ? ([...new URLSearchParams(name).keys()][0] ?? "") : name;
}
