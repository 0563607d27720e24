/** What is asked of people who sign in: the same rules in the dashboard's forms and in the API. */
import * as z from "zod";

import { plainText } from "./text.ts";

/** Lengths of a password, in characters. */
export const PASSWORD_LENGTH = { min: 10, max: 128 };

export const ROLES = ["owner", "member", "viewer"] as const;

/** What a member of an account may do in it. */
export type Role = (typeof ROLES)[number];

export const email = z.email("must be an e-mail address").max(254);

/** One that is already set: whatever it is, it is compared and not judged. */
export const plainPassword = z.string().min(1).max(PASSWORD_LENGTH.max);

export const newPassword = z
  .string()
  .min(PASSWORD_LENGTH.min, `must have ${PASSWORD_LENGTH.min} characters at least`)
  .max(PASSWORD_LENGTH.max);

export const personName = plainText(100).trim().min(1);
