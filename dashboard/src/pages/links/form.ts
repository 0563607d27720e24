/** The link form: its values, their validation, and the resulting request bodies. */
import type { FullLink, LinkChange, NewLink } from "../../../../clients/typescript/src/index.ts";
import { aliasProblem } from "../../../../shared/contracts/alias.ts";
import { UTM_NAMES } from "../../../../shared/contracts/analytics.ts";
import { newLinkBody } from "../../../../shared/contracts/link-schemas.ts";
import { REDIRECT_STATUSES } from "../../../../shared/contracts/redirect-status.ts";
import { trimInvisible } from "../../../../shared/contracts/text.ts";
import { completeUrl, parseWebUrl } from "../../../../shared/contracts/web-url.ts";
import { readShortLink } from "../../../../shared/link-csv/cells.ts";
import { readList } from "../../data/complete-list.ts";
import { describeError, describeIssue, describeRule } from "../../languages/errors.ts";
import { t } from "../../languages/translate.ts";
import { type FieldErrors, fieldOf } from "../../ui/form.ts";
import { toInstant, toLocalTime } from "../../ui/local-time.ts";

/** Fields with a line of text; "" for none. */
const TEXT_FIELDS = [
  "alias",
  "domain",
  "title",
  "expired_url",
  "external_id",
  ...UTM_NAMES,
] as const;

type TextName = (typeof TEXT_FIELDS)[number];

const textFields = <Value>(valueOf: (name: TextName) => Value) =>
  // The names are those of the fields.
  Object.fromEntries(TEXT_FIELDS.map((name) => [name, valueOf(name)])) as Record<TextName, Value>;

export type LinkValues = Record<TextName, string> & {
  url: string;
  notes: string;
  tags: string;
  /** The tags of the link, of which one with a comma stays one. */
  tags_before: readonly string[];
  /** The value of a `datetime-local` input: local time without a zone. */
  expires_at: string;
  /** As `expires_at`. */
  starts_at: string;
  disabled: boolean;
  archived: boolean;
  /** A number, or "" for no limit. */
  max_clicks: string;
  limit_counts: "all" | "human";
  confirm: boolean;
  preview_title: string;
  preview_description: string;
  preview_image: string;
  /** "" for an error page. */
  forward_path: "" | "append" | "ignore";
  /** "" for the domain's. */
  redirect_status: string;
  password: string;
  removePassword: boolean;
  forward_query: boolean;
};

/** The values of a link with its settings; those of a new one without. */
export const toFormValues = (link?: FullLink): LinkValues => ({
  ...textFields((name) => link?.[name] ?? ""),
  url: link?.original_url ?? "",
  notes: link?.notes ?? "",
  tags: link?.tags.join(", ") ?? "",
  tags_before: link?.tags ?? [],
  expires_at: toLocalTime(link?.expires_at ?? null),
  starts_at: toLocalTime(link?.starts_at ?? null),
  disabled: link?.disabled ?? false,
  archived: link?.archived ?? false,
  max_clicks: link?.max_clicks === undefined ? "" : String(link.max_clicks),
  limit_counts: link?.limit_counts ?? (link?.max_clicks === undefined ? "human" : "all"),
  confirm: link?.confirm ?? false,
  preview_title: link?.preview?.title ?? "",
  preview_description: link?.preview?.description ?? "",
  preview_image: link?.preview?.image ?? "",
  forward_path: link?.forward_path ?? "",
  redirect_status: link?.redirect_status === undefined ? "" : String(link.redirect_status),
  password: "",
  removePassword: false,
  forward_query: link?.forward_query ?? false,
});

/** The values of a copy of a link: it redirects immediately, under its own alias. */
export const copyValues = (link: FullLink, now: number): LinkValues => ({
  ...toFormValues(link),
  alias: "",
  external_id: "",
  archived: false,
  disabled: false,
  ...(link.expires_at !== null && Date.parse(link.expires_at) <= now ? { expires_at: "" } : {}),
});

/** The rules and the split of a copy, with new ids. */
export const copyDecisions = ({ rules, split }: FullLink): Pick<NewLink, "rules" | "split"> => ({
  ...(rules === undefined
    ? {}
    : { rules: rules.map(({ url, conditions }) => ({ url, conditions })) }),
  ...(split === undefined
    ? {}
    : {
        split: {
          arms: split.arms.map(({ id: _id, ...arm }) => arm),
          until: split.until,
        },
      }),
});

/** A text without what nobody sees at its ends; null for none. */
const emptyToNull = (text: string): string | null => trimInvisible(text) || null;

/** An alias as typed, or as people paste it: with the short URL or the slash before it. */
function readAlias(text: string): string | null {
  const alias = trimInvisible(text);
  return (/^(?:https?:\/)?\//i.test(alias) ? readShortLink(alias).alias : alias) || null;
}

/** The preview's card as typed; null while all fields are empty. */
function readPreview(values: LinkValues): NonNullable<NewLink["preview"]> | null {
  const title = values.preview_title.trim();
  const description = emptyToNull(values.preview_description);
  const image = emptyToNull(values.preview_image);
  return title === "" && description === null && image === null
    ? null
    : { title, description, image };
}

/**
 * Converts all values to a request body; empty ones become null. Rules and split have their own
 * page.
 */
export function toRequestBody(values: LinkValues): Omit<NewLink, "rules" | "split"> {
  return {
    ...textFields((name) => emptyToNull(values[name])),
    alias: readAlias(values.alias),
    url: completeUrl(values.url),
    notes: values.notes.trim() === "" ? null : values.notes,
    tags: readList(values.tags, values.tags_before),
    expires_at: values.expires_at === "" ? null : toInstant(values.expires_at),
    starts_at: values.starts_at === "" ? null : toInstant(values.starts_at),
    disabled: values.disabled,
    archived: values.archived,
    max_clicks: values.max_clicks.trim() === "" ? null : Number(values.max_clicks),
    limit_counts: values.limit_counts,
    confirm: values.confirm,
    preview: readPreview(values),
    forward_path: values.forward_path === "" ? null : values.forward_path,
    redirect_status:
      REDIRECT_STATUSES.find((status) => String(status) === values.redirect_status) ?? null,
    password: values.password === "" ? null : values.password,
    forward_query: values.forward_query,
  };
}

/** Returns only the changed fields. An emptied alias stays unchanged. */
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

/** The UTM parameters of a form as the query of a template. */
export function toTemplate(values: LinkValues): string {
  const params = new URLSearchParams();
  for (const name of UTM_NAMES) {
    const value = emptyToNull(values[name]);
    if (value !== null) params.append(name, value);
  }
  return params.toString();
}

/**
 * Validates the values by the API's rules. An expiry unchanged from `initial` may be in the past.
 */
export function validateLink(
  values: LinkValues,
  now: number,
  initial?: LinkValues,
): FieldErrors<LinkValues> {
  const body = toRequestBody(values);
  const errors: FieldErrors<LinkValues> = {};
  const parsed = newLinkBody.safeParse(body, { error: describeIssue });
  for (const { path, message } of parsed.error?.issues ?? []) {
    const field = fieldOf(path.join("."), values);
    if (field !== undefined) errors[field] ??= describeRule(message);
  }
  const url = parseWebUrl(completeUrl(values.url));
  if ("problem" in url)
    errors.url = completeUrl(values.url) === "" ? t("ui.required") : describeRule(url.problem);
  for (const field of ["expired_url", "preview_image"] as const) {
    const text = emptyToNull(values[field]);
    const problem = text === null ? undefined : urlProblem(text, field);
    if (problem !== undefined) errors[field] = problem;
  }
  const alias =
    typeof body.alias === "string" ? aliasProblem(body.alias, body.domain ?? null) : undefined;
  if (alias !== undefined) errors.alias = describeError({ code: "invalid_alias", message: alias });
  const unchanged = initial?.expires_at === values.expires_at;
  if (typeof body.expires_at === "string" && !unchanged && Date.parse(body.expires_at) <= now) {
    errors.expires_at = t("links.form.future");
  }
  return errors;
}

function urlProblem(text: string, field: "expired_url" | "preview_image"): string | undefined {
  const parsed = parseWebUrl(text);
  if ("problem" in parsed) return describeRule(parsed.problem);
  return field === "preview_image" && parsed.url.protocol !== "https:"
    ? t("links.form.httpsOnly")
    : undefined;
}
