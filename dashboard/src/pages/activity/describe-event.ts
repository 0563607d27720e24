/** Describes an event of the ledger in words, and each field that it changed. */
import * as z from "zod";

import type { LedgerEvent } from "../../../../clients/typescript/src/index.ts";
import { readableUrl } from "../../../../shared/contracts/host-names.ts";
import type { LedgerType } from "../../../../shared/contracts/webhook-schemas.ts";
import type { TextKey } from "../../languages/catalogues.ts";
import { t } from "../../languages/translate.ts";
import { formatDateTime } from "../../ui/format.ts";

/** The object of an event. */
type Subject = {
  name: string;
  /** A second name. */
  detail: string | undefined;
  /** Its page, relative to the account and mode; undefined without one, or when it is gone. */
  path: string | undefined;
  linkId: string | undefined;
};

// Null for what a resource does not have.
const text = z.string().optional().catch(undefined);

const resource = z.looseObject({
  id: text,
  user_id: text,
  title: text,
  alias: text,
  short_url: text,
  domain: text,
  name: text,
  email: text,
  url: text,
});

type Resource = z.output<typeof resource>;

const SUBJECTS: Readonly<Record<string, (resource: Resource) => Omit<Subject, "linkId">>> = {
  link: ({ id, title, alias, short_url }) => ({
    name: short_url === undefined ? (alias ?? "") : readableUrl(short_url),
    detail: title,
    path: `/links/${id}`,
  }),
  domain: ({ domain }) => ({ name: domain ?? "", detail: undefined, path: "/domains" }),
  key: ({ name }) => ({ name: name ?? "", detail: undefined, path: "/settings/keys" }),
  member: ({ name, email }) => ({ name: name ?? "", detail: email, path: "/settings/members" }),
  share: ({ name, id }) => ({ name: name ?? id ?? "", detail: undefined, path: undefined }),
  webhook: ({ id, url }) => ({ name: url ?? "", detail: undefined, path: `/webhooks/${id}` }),
  report: ({ name }) => ({ name: name ?? "", detail: undefined, path: "/reports" }),
  invitation: ({ email }) => ({ name: email ?? "", detail: undefined, path: "/settings/members" }),
  user: ({ name, email }) => ({ name: name ?? "", detail: email, path: "/settings/members" }),
  view: ({ name }) => ({ name: name ?? "", detail: undefined, path: undefined }),
  tag: ({ name }) => ({ name: name ?? "", detail: undefined, path: "/tags" }),
  account: () => ({ name: "", detail: undefined, path: undefined }),
};

/** Types after which there is nothing to look at any more. */
const GONE = new Set([
  "link.deleted",
  "domain.deleted",
  "member.removed",
  "share.revoked",
  "webhook.deleted",
  "report.deleted",
]);

/** Returns what an event is about; undefined if the page does not know it. */
export function subjectOf({ type, data }: LedgerEvent): Subject | undefined {
  for (const [kind, describe] of Object.entries(SUBJECTS)) {
    const { success, data: found } = resource.safeParse(data[kind]);
    if (!success) continue;
    const subject = describe(found);
    return {
      ...subject,
      path: GONE.has(type) ? undefined : subject.path,
      linkId: kind === "link" ? found.id : undefined,
    };
  }
  return undefined;
}

type Change = { field: string; before: string; after: string };

const changes = z
  .record(z.string(), z.object({ before: z.unknown(), after: z.unknown() }))
  .catch({});

/** The fields that an event changed, with values to read. */
export const changesOf = ({ data }: LedgerEvent): Change[] =>
  Object.entries(changes.parse(data["changes"])).map(([field, { before, after }]) => ({
    field,
    before: formatValue(before),
    after: formatValue(after),
  }));

/** Characters of a value that are shown. */
const VALUE_LENGTH_MAX = 200;

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

function formatValue(value: unknown): string {
  if (value === null || value === undefined || value === "") return "–";
  if (typeof value === "boolean") return t(value ? "activity.yes" : "activity.no");
  if (typeof value === "string" && INSTANT.test(value)) return formatDateTime(value);
  if (Array.isArray(value) && value.every((item) => typeof item === "string"))
    return shorten(value.join(", ") || "–");
  return shorten(typeof value === "string" ? value : JSON.stringify(value));
}

const shorten = (long: string): string =>
  long.length > VALUE_LENGTH_MAX ? `${long.slice(0, VALUE_LENGTH_MAX).toWellFormed()}…` : long;

/**
 * The types that the page shows: what people and programs did, and what happened as time passed.
 * Clicks are statistics, and have pages of their own.
 */
export type ShownType = Exclude<LedgerType, "clicks.recorded">;

const NAMES: Readonly<Record<ShownType, TextKey>> = {
  "link.created": "activity.types.link_created",
  "link.updated": "activity.types.link_updated",
  "link.deleted": "activity.types.link_deleted",
  "link.expired": "activity.types.link_expired",
  "link.limit_reached": "activity.types.link_limit_reached",
  "link.taken_down": "activity.types.link_taken_down",
  "link.restored": "activity.types.link_restored",
  "account.taken_down": "activity.types.account_taken_down",
  "account.restored": "activity.types.account_restored",
  "domain.created": "activity.types.domain_created",
  "domain.verified": "activity.types.domain_verified",
  "domain.updated": "activity.types.domain_updated",
  "domain.displaced": "activity.types.domain_displaced",
  "domain.deleted": "activity.types.domain_deleted",
  "key.created": "activity.types.key_created",
  "key.rotated": "activity.types.key_rotated",
  "key.revoked": "activity.types.key_revoked",
  "member.joined": "activity.types.member_joined",
  "member.updated": "activity.types.member_updated",
  "member.removed": "activity.types.member_removed",
  "member.reset_link_created": "activity.types.member_reset_link_created",
  "share.created": "activity.types.share_created",
  "share.updated": "activity.types.share_updated",
  "share.revoked": "activity.types.share_revoked",
  "webhook.disabled": "activity.types.webhook_disabled",
  "webhook.test": "activity.types.webhook_test",
  "clicks.left_out": "activity.types.clicks_left_out",
  "report.ready": "activity.types.report_ready",
  "session.started": "activity.types.session_started",
  "session.refused": "activity.types.session_refused",
  "session.ended": "activity.types.session_ended",
  "user.created": "activity.types.user_created",
  "user.password_changed": "activity.types.user_password_changed",
  "user.second_factor_changed": "activity.types.user_second_factor_changed",
  "member.invited": "activity.types.member_invited",
  "member.invitation_withdrawn": "activity.types.member_invitation_withdrawn",
  "account.created": "activity.types.account_created",
  "account.updated": "activity.types.account_updated",
  "branding.updated": "activity.types.branding_updated",
  "tag.updated": "activity.types.tag_updated",
  "view.saved": "activity.types.view_saved",
  "view.deleted": "activity.types.view_deleted",
  "clicks.exported": "activity.types.clicks_exported",
  "webhook.created": "activity.types.webhook_created",
  "webhook.updated": "activity.types.webhook_updated",
  "webhook.rotated": "activity.types.webhook_rotated",
  "webhook.replayed": "activity.types.webhook_replayed",
  "webhook.deleted": "activity.types.webhook_deleted",
  "report.created": "activity.types.report_created",
  "report.updated": "activity.types.report_updated",
  "report.deleted": "activity.types.report_deleted",
  "report.unsubscribed": "activity.types.report_unsubscribed",
  "operator.command": "activity.types.operator_command",
};

// Object.keys loses the type of the keys; the table has no others.
export const SHOWN_TYPES = Object.keys(NAMES) as ShownType[];

/** Returns the type that a text names; undefined for another text. */
export const readType = (text: string | null): ShownType | undefined =>
  SHOWN_TYPES.find((type) => type === text);

/** The name of a type; one that the page does not know is shown as it is. */
export function typeName(type: string): string {
  const known = readType(type);
  return known === undefined ? type : t(NAMES[known]);
}
