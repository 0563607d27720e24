/** Members and invitations as the dashboard sees them. */
import * as z from "zod";

import { email, newPassword, personName, ROLES } from "../../shared/contracts/people.ts";
import { encodeId } from "../../shared/ids.ts";
import type { InvitationRow, MemberRow } from "./sql.ts";

export const inviteBody = z.strictObject({ email, role: z.enum(ROLES) });

export const changeMemberBody = z.strictObject({ role: z.enum(ROLES) });

/** What a person who is new says of themselves; whoever has signed in says nothing. */
export const acceptBody = z.strictObject({
  name: personName.optional(),
  password: newPassword.optional(),
});

export type AcceptBody = z.output<typeof acceptBody>;

export const memberAnswer = z.object({
  user_id: z.string(),
  email: z.string(),
  name: z.string(),
  role: z.enum(ROLES),
  created_at: z.iso.datetime(),
});

export const invitationAnswer = z.object({
  id: z.string(),
  email: z.string(),
  role: z.enum(ROLES),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime(),
});

/** The token is in this answer and nowhere else. */
export const newInvitationAnswer = invitationAnswer.extend({ token: z.string() });

export const memberListAnswer = z.object({
  members: z.array(memberAnswer),
  invitations: z.array(invitationAnswer),
});

/** What somebody who holds the link may know. */
export const invitationOfferAnswer = z.object({
  account_name: z.string(),
  email: z.string(),
  role: z.enum(ROLES),
  /** There is somebody with this address, who signs in to accept. */
  known: z.boolean(),
});

export const acceptedAnswer = z.object({ account_id: z.string() });

export const toMemberAnswer = (row: MemberRow): z.output<typeof memberAnswer> => ({
  user_id: encodeId("user", row.user_id),
  email: row.email,
  name: row.name,
  role: row.role,
  created_at: row.created_at.toISOString(),
});

export const toInvitationAnswer = (
  row: Omit<InvitationRow, "account_id" | "account_name">,
): z.output<typeof invitationAnswer> => ({
  id: encodeId("inv", row.id),
  email: row.email,
  role: row.role,
  created_at: row.created_at.toISOString(),
  expires_at: row.expires_at.toISOString(),
});
