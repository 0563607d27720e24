/** Rules for users who sign in, shared by the API and the dashboard's forms. */
import * as z from "zod";

import { plainText } from "./text-schemas.ts";
import { preparePassword, trimInvisible } from "./text.ts";

/** Length of a password, in characters. */
export const PASSWORD_LENGTH = { min: 10, max: 128 };

/** Lifetime of a link that sets a new password. */
export const RESET_MINUTES = 60;

export const ROLES = ["owner", "member", "viewer"] as const;

/** The role of a user in an account. */
export type Role = (typeof ROLES)[number];

/** RFC 5321 §4.5.3.1.3: a path has at most 256 octets, including its angle brackets. */
const EMAIL_LENGTH_MAX = 254;

const PERSON_NAME_LENGTH_MAX = 100;

/** The length is checked first: matching the pattern on 1 MiB of text would take half a second. */
export const email = z
  .string()
  .max(EMAIL_LENGTH_MAX, { abort: true })
  .overwrite(trimInvisible)
  .check(z.email("must be an e-mail address"));

/** An existing password: it is only compared, so the rules for new ones do not apply. */
export const plainPassword = z.string().min(1).max(PASSWORD_LENGTH.max);

/** As it will be compared, so that the length is of what counts. */
export const newPassword = z
  .string()
  .max(PASSWORD_LENGTH.max, { abort: true })
  .overwrite(preparePassword)
  .min(PASSWORD_LENGTH.min);

/** Longest code that somebody types, with the spaces that apps show in it. */
const TYPED_CODE_LENGTH_MAX = 40;

/** Digits of Arabic and Persian keyboards, whose last four bits are their values. */
const ARABIC_DIGIT = /[\u0660-\u0669\u06f0-\u06f9]/g;

/** A recovery code with any dash, or none. */
const RECOVERY_CODE = /^([\dA-Za-z]{5})\p{Pd}?([\dA-Za-z]{5})$/u;

/** A code that was typed on any keyboard; those of Japanese have wide digits (NFKC). */
const readCode = (typed: string): string =>
  typed
    .normalize("NFKC")
    .replaceAll(/\s/g, "")
    .replaceAll(ARABIC_DIGIT, (digit) => String(digit.charCodeAt(0) % 16))
    .replace(RECOVERY_CODE, "$1-$2");

const typedCode = (form: RegExp, message: string) =>
  z.string().max(TYPED_CODE_LENGTH_MAX, { abort: true }).overwrite(readCode).regex(form, message);

/** A code of an app (RFC 6238). */
export const appCode = typedCode(/^\d{6}$/, "must be six digits");

/** A code of an app, or a recovery code. */
export const signInCode = typedCode(
  /^(?:\d{6}|[\dA-Za-z]{5}-[\dA-Za-z]{5})$/,
  "must be the six digits of the app, or a recovery code",
);

export const userName = plainText(PERSON_NAME_LENGTH_MAX).trim().min(1);
