/** Request and response bodies of members and invitations. */
import * as z from "zod";

import { email, newPassword, ROLES, userName } from "../../shared/contracts/users.ts";
import { encodeId } from "../../shared/ids.ts";
import type { InvitationRow, MemberRow } from "./sql.ts";

export const inviteBody = z.strictObject({ email, role: z.enum(ROLES) });

export const changeMemberBody = z.strictObject({ role: z.enum(ROLES) });

/** A new user chooses a name and a password; a signed-in user sends neither. */
export const acceptBody = z.strictObject({
  name: userName.optional(),
  password: newPassword.optional(),
});

export type AcceptBody = z.output<typeof acceptBody>;

export const memberResponse = z.object({
  user_id: z.string(),
  email: z.string(),
  name: z.string(),
  role: z.enum(ROLES),
  created_at: z.iso.datetime(),
});

export const invitationResponse = z.object({
  id: z.string(),
  email: z.string(),
  role: z.enum(ROLES),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime(),
});

/** Only this response contains the token. */
export const newInvitationResponse = invitationResponse.extend({ token: z.string() });

/** A link to set a new password; only this response contains its token. */
export const newResetResponse = z.object({ token: z.string(), expires_at: z.iso.datetime() });

export const requireFactorBody = z.strictObject({
  roles: z.array(z.enum(ROLES)).max(ROLES.length),
});

export const memberListResponse = z.object({
  /** Roles whose members need a second factor. */
  second_factor_roles: z.array(z.enum(ROLES)),
  members: z.array(memberResponse),
  invitations: z.array(invitationResponse),
});

/** An invitation as the holder of its link may see it. */
export const invitationOfferResponse = z.object({
  account_name: z.string(),
  email: z.string(),
  role: z.enum(ROLES),
  /** Whether a user with this address exists, who signs in to accept. */
  known: z.boolean(),
});

export const acceptedResponse = z.object({ account_id: z.string() });

export const toMemberResponse = (row: MemberRow): z.output<typeof memberResponse> => ({
  user_id: encodeId("user", row.user_id),
  email: row.email,
  name: row.name,
  role: row.role,
  created_at: row.created_at.toISOString(),
});

export const toInvitationResponse = (
  row: Omit<InvitationRow, "account_id" | "account_name">,
): z.output<typeof invitationResponse> => ({
  id: encodeId("inv", row.id),
  email: row.email,
  role: row.role,
  created_at: row.created_at.toISOString(),
  expires_at: row.expires_at.toISOString(),
});
