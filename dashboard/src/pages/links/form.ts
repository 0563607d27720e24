import type { Link, LinkChange, NewLink } from "../../../../clients/typescript/src/index.ts";
import { aliasProblem } from "../../../../shared/contracts/alias.ts";
/** The form of a link: what is typed, and the body of the request that it makes. */
import { createLinkBody } from "../../../../shared/contracts/link-bodies.ts";
import { parseWebUrl } from "../../../../shared/contracts/web-url.ts";
import { sentence } from "../../ui/validation.ts";

export const UTM_FIELDS = [
  ["utm_source", "Source", "newsletter"],
  ["utm_medium", "Medium", "email"],
  ["utm_campaign", "Campaign", "spring-sale"],
  ["utm_term", "Term", "running shoes"],
  ["utm_content", "Content", "button"],
] as const;

type UtmName = (typeof UTM_FIELDS)[number][0];

/** What of a link is not in lists. */
export type LinkSettings = Record<UtmName, string | null> & {
  forward_query: boolean;
  has_password: boolean;
};

export type LinkValues = Record<UtmName, string> & {
  url: string;
  alias: string;
  domain: string;
  title: string;
  /** Separated by commas. */
  tags: string;
  /** As the browser's control has it: local, without a zone. */
  expires_at: string;
  password: string;
  removePassword: boolean;
  forward_query: boolean;
};

export const valuesOf = (link?: Link, settings?: LinkSettings): LinkValues => ({
  url: link?.original_url ?? "",
  alias: link?.alias ?? "",
  domain: link?.domain ?? "",
  title: link?.title ?? "",
  tags: link?.tags.join(", ") ?? "",
  expires_at: localTime(link?.expires_at ?? null),
  password: "",
  removePassword: false,
  forward_query: settings?.forward_query ?? false,
  utm_source: settings?.utm_source ?? "",
  utm_medium: settings?.utm_medium ?? "",
  utm_campaign: settings?.utm_campaign ?? "",
  utm_term: settings?.utm_term ?? "",
  utm_content: settings?.utm_content ?? "",
});

const orNull = (text: string): string | null => (text.trim() === "" ? null : text.trim());

/** The whole link that the values describe: what is empty is null. */
export function bodyOf(values: LinkValues): NewLink {
  return {
    url: values.url.trim(),
    alias: orNull(values.alias),
    domain: orNull(values.domain),
    title: orNull(values.title),
    tags: values.tags
      .split(",")
      .map((tag) => tag.trim())
      .filter((tag) => tag !== ""),
    expires_at: values.expires_at === "" ? null : instantOf(values.expires_at),
    password: values.password === "" ? null : values.password,
    forward_query: values.forward_query,
    utm_source: orNull(values.utm_source),
    utm_medium: orNull(values.utm_medium),
    utm_campaign: orNull(values.utm_campaign),
    utm_term: orNull(values.utm_term),
    utm_content: orNull(values.utm_content),
  };
}

/** Of the fields, those that are not as they were. An alias that was emptied is left as it is. */
export function changesOf(before: LinkValues, after: LinkValues): LinkChange {
  const { domain: _domain, alias, ...now } = bodyOf(after);
  const old = bodyOf(before);
  const changed = Object.entries(now).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(Reflect.get(old, name)),
  );
  return {
    ...Object.fromEntries(changed),
    ...(typeof alias === "string" && alias !== old.alias ? { alias } : {}),
    ...(after.removePassword ? { password: null } : {}),
  };
}

export type Problems = Partial<Record<keyof LinkValues, string>>;

/** What is wrong with the values, by the rules of the API; `before` is what may stay as it is. */
export function problemsOf(values: LinkValues, now: number, before?: LinkValues): Problems {
  const body = bodyOf(values);
  const problems: Problems = {};
  const parsed = createLinkBody.safeParse(body);
  for (const { path, message } of parsed.error?.issues ?? []) {
    const [name] = path;
    if (typeof name === "string" && name in values) {
      problems[name as keyof LinkValues] ??= sentence(message);
    }
  }
  const url = parseWebUrl(values.url);
  if ("problem" in url) problems.url = values.url.trim() === "" ? "Required" : url.problem;
  const alias = values.alias.trim() === "" ? undefined : aliasProblem(values.alias.trim());
  if (alias !== undefined) problems.alias = alias;
  const kept = before !== undefined && before.expires_at === values.expires_at;
  if (typeof body.expires_at === "string" && !kept && Date.parse(body.expires_at) <= now) {
    problems.expires_at = "Must be in the future";
  }
  return problems;
}

/** A local time of the browser's control as an instant; what is none is left for the check to refuse. */
function instantOf(local: string): string {
  const instant = new Date(local);
  return Number.isNaN(instant.getTime()) ? local : instant.toISOString();
}

function localTime(instant: string | null): string {
  if (instant === null) return "";
  const at = new Date(instant);
  const shifted = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}
