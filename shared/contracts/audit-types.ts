/**
 * Entries of the ledger that only who has the scope `audit:read` sees, and that no webhook gets:
 * who signed in, and what concerns how an account is run. Each with what it records.
 */
import type { EventType } from "./webhook-schemas.ts";

const AUDIT_TYPES = {
  "session.started": "A member signed in.",
  "session.refused": "A sign-in as a member was refused.",
  "session.ended": "A member signed out, here or everywhere.",
  "user.created": "The operator created a user.",
  "user.password_changed": "The password of a member was changed.",
  "user.second_factor_changed": "A member set up a second factor, removed it, or made other codes.",
  "member.invited": "Somebody was invited to the account.",
  "member.invitation_withdrawn": "An invitation was withdrawn.",
  "account.created": "The operator created the account.",
  "account.updated": "The operator changed the account's plan, or suspended it.",
  "branding.updated": "The branding was changed.",
  "tag.updated": "The colour of a tag was changed.",
  "view.saved": "A view, filter or template was saved.",
  "view.deleted": "A view, filter or template was deleted.",
  "clicks.exported": "Single clicks were exported.",
  "webhook.created": "A webhook was created.",
  "webhook.updated": "A webhook was changed.",
  "webhook.rotated": "A webhook got another secret.",
  "webhook.replayed": "Events are delivered to a webhook again.",
  "webhook.deleted": "A webhook was deleted.",
  "report.created": "A report was created.",
  "report.updated": "A report was changed.",
  "report.deleted": "A report was deleted.",
  "report.unsubscribed": "A recipient of a report unsubscribed.",
  "operator.command": "The operator ran a command.",
} as const;

export type AuditType = keyof typeof AUDIT_TYPES;

/** The type of an entry of the ledger. */
export type LedgerType = EventType | AuditType;

// Object.keys loses the type of the keys; the table has no others.
export const AUDIT_TYPE_NAMES = Object.keys(AUDIT_TYPES) as [AuditType, ...AuditType[]];

export const isAuditType = (type: string): boolean => Object.hasOwn(AUDIT_TYPES, type);
