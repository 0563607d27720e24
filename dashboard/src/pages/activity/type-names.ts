/** The names of types of events. */
import type { EventType } from "../../../../shared/contracts/webhook-schemas.ts";
import type { TextKey } from "../../languages/catalogues.ts";
import { t } from "../../languages/translate.ts";

/**
 * The types that the page shows: what people and programs did, and what happened as time passed.
 * Clicks are statistics, and have pages of their own.
 */
export type ShownType = Exclude<EventType, "clicks.recorded">;

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
