/** Request and response bodies of members and invitations. */
import * as z from "zod";

import {
  type Invitation,
  invitationResponse,
  type Member,
} from "../../shared/contracts/user-responses.ts";
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

/** Only this response contains the token. */
export const newInvitationResponse = invitationResponse.extend({ token: z.string() });

/** A link to set a new password; only this response contains its token. */
export const newResetResponse = z.object({ token: z.string(), expires_at: z.iso.datetime() });

export const requireFactorBody = z.strictObject({
  roles: z.array(z.enum(ROLES)).max(ROLES.length),
});

export const toMemberResponse = (row: MemberRow): Member => ({
  user_id: encodeId("user", row.user_id),
  email: row.email,
  name: row.name,
  role: row.role,
  created_at: row.created_at.toISOString(),
});

export const toInvitationResponse = (
  row: Omit<InvitationRow, "account_id" | "account_name">,
): Invitation => ({
  id: encodeId("inv", row.id),
  email: row.email,
  role: row.role,
  created_at: row.created_at.toISOString(),
  expires_at: row.expires_at.toISOString(),
});
