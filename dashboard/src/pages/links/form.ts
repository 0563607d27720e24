/** The link form: its values, their validation, and the request bodies they make. */
import type { Link, LinkChange, NewLink } from "../../../../clients/typescript/src/index.ts";
import { aliasProblem } from "../../../../shared/contracts/alias.ts";
import { createLinkBody } from "../../../../shared/contracts/link-schemas.ts";
import { parseWebUrl } from "../../../../shared/contracts/web-url.ts";
import { capitalize, describeIssue } from "../../ui/validation.ts";

export const UTM_FIELDS = [
  ["utm_source", "Source", "newsletter"],
  ["utm_medium", "Medium", "email"],
  ["utm_campaign", "Campaign", "spring-sale"],
  ["utm_term", "Term", "running shoes"],
  ["utm_content", "Content", "button"],
] as const;

type UtmName = (typeof UTM_FIELDS)[number][0];

/** Fields of a link that lists leave out. */
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
  /** The value of a `datetime-local` input: local time without a zone. */
  expires_at: string;
  password: string;
  removePassword: boolean;
  forward_query: boolean;
};

export const toFormValues = (link?: Link, settings?: LinkSettings): LinkValues => ({
  url: link?.original_url ?? "",
  alias: link?.alias ?? "",
  domain: link?.domain ?? "",
  title: link?.title ?? "",
  tags: link?.tags.join(", ") ?? "",
  expires_at: toLocalTime(link?.expires_at ?? null),
  password: "",
  removePassword: false,
  forward_query: settings?.forward_query ?? false,
  utm_source: settings?.utm_source ?? "",
  utm_medium: settings?.utm_medium ?? "",
  utm_campaign: settings?.utm_campaign ?? "",
  utm_term: settings?.utm_term ?? "",
  utm_content: settings?.utm_content ?? "",
});

const emptyToNull = (text: string): string | null => (text.trim() === "" ? null : text.trim());

/** Converts all values to a request body; empty ones become null. */
export function toRequestBody(values: LinkValues): NewLink {
  return {
    url: values.url.trim(),
    alias: emptyToNull(values.alias),
    domain: emptyToNull(values.domain),
    title: emptyToNull(values.title),
    tags: values.tags
      .split(",")
      .map((tag) => tag.trim())
      .filter((tag) => tag !== ""),
    expires_at: values.expires_at === "" ? null : toInstant(values.expires_at),
    password: values.password === "" ? null : values.password,
    forward_query: values.forward_query,
    utm_source: emptyToNull(values.utm_source),
    utm_medium: emptyToNull(values.utm_medium),
    utm_campaign: emptyToNull(values.utm_campaign),
    utm_term: emptyToNull(values.utm_term),
    utm_content: emptyToNull(values.utm_content),
  };
}

/** Returns only the changed fields. An emptied alias is left unchanged. */
export function getChanges(before: LinkValues, after: LinkValues): LinkChange {
  const { domain: _domain, alias, ...now } = toRequestBody(after);
  const old = toRequestBody(before);
  const changed = Object.entries(now).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(Reflect.get(old, name)),
  );
  return {
    ...Object.fromEntries(changed),
    ...(typeof alias === "string" && alias !== old.alias ? { alias } : {}),
    ...(after.removePassword ? { password: null } : {}),
  };
}

type FieldErrors = Partial<Record<keyof LinkValues, string>>;

/** Validates the values by the API's rules. An expiry unchanged from `initial` may be in the past. */
export function validateLink(values: LinkValues, now: number, initial?: LinkValues): FieldErrors {
  const body = toRequestBody(values);
  const errors: FieldErrors = {};
  const parsed = createLinkBody.safeParse(body, { error: describeIssue });
  for (const { path, message } of parsed.error?.issues ?? []) {
    const [name] = path;
    if (typeof name === "string" && name in values) {
      errors[name as keyof LinkValues] ??= capitalize(message);
    }
  }
  const url = parseWebUrl(values.url);
  if ("problem" in url) errors.url = values.url.trim() === "" ? "Required" : url.problem;
  const alias = values.alias.trim() === "" ? undefined : aliasProblem(values.alias.trim());
  if (alias !== undefined) errors.alias = alias;
  const unchanged = initial?.expires_at === values.expires_at;
  if (typeof body.expires_at === "string" && !unchanged && Date.parse(body.expires_at) <= now) {
    errors.expires_at = "Must be in the future";
  }
  return errors;
}

/** Converts a local time to an ISO 8601 instant. Returns invalid text unchanged, for validation to reject. */
function toInstant(local: string): string {
  const instant = new Date(local);
  return Number.isNaN(instant.getTime()) ? local : instant.toISOString();
}

/** Converts an ISO 8601 instant to the value of a `datetime-local` input. */
function toLocalTime(instant: string | null): string {
  if (instant === null) return "";
  const at = new Date(instant);
  const shifted = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}
