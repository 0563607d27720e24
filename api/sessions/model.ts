/** Request and response bodies of `/auth`. */
import * as z from "zod";

import { email, newPassword, plainPassword, ROLES } from "../../shared/contracts/users.ts";

export const signInBody = z.strictObject({ email, password: plainPassword });

export const changePasswordBody = z.strictObject({
  current_password: plainPassword,
  new_password: newPassword,
});

export const sessionResponse = z.object({
  user: z.object({ id: z.string(), email: z.string(), name: z.string() }),
  accounts: z.array(
    z.object({ id: z.string(), name: z.string(), plan: z.string(), role: z.enum(ROLES) }),
  ),
  /** Where short links are served. */
  short_url: z.string(),
  /** Whether mails are set up: without them, reports have no recipients. */
  sends_mails: z.boolean(),
});

export const deviceListResponse = z.object({
  data: z.array(
    z.object({
      user_agent: z.string().nullable(),
      browser: z.string().nullable(),
      os: z.string().nullable(),
      created_at: z.iso.datetime(),
      last_seen_at: z.iso.datetime(),
      current: z.boolean(),
    }),
  ),
});
