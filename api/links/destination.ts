/** Where a redirect goes: the destination with the link's UTM parameters set on its query. */

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

/**
 * Sets the link's UTM values on `href`, in place of parameters of the same names. The rest of the
 * query keeps its bytes: re-encoding it could break a destination's signature.
 */
export function destinationOf(href: string, utm: Utm): string {
  const values = UTM_FIELDS.flatMap((name): [string, string][] => {
    const value = utm[name];
    return value === null ? [] : [[name, value]];
  });
  if (values.length === 0) return href;
  const names = new Set(values.map(([name]) => name));
  const [beforeHash, hash] = splitAt(href, "#");
  const [path, query] = splitAt(beforeHash, "?");
  const kept = query
    .slice(1)
    .split("&")
    .filter((part) => part !== "" && !names.has(parameterName(part)));
  return `${path}?${[...kept, new URLSearchParams(values).toString()].join("&")}${hash}`;
}

function splitAt(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at)];
}

const parameterName = (part: string): string => [...new URLSearchParams(part).keys()][0] ?? "";
