/**
 * The secrets of shares: the token in a share's URL, and the access tokens that its password
 * grants.
 */
import { createHmac, timingSafeEqual } from "node:crypto";

import type { Uuid } from "../../shared/ids.ts";
import { hashToken } from "../url-tokens.ts";

const TOKEN_FORM = /^[\w-]{43}$/;

/** How long an access token is valid. */
const ACCESS_SECONDS = 3_600;

const ACCESS_FORM = /^(?<expires>\d{1,12})\.(?<signature>[\w-]{43})$/;

/** The hash by which the share of a token is found; undefined for an invalid token. */
export const parseToken = (token: string): Buffer | undefined =>
  TOKEN_FORM.test(token) ? hashToken(token) : undefined;

type ProtectedShare = { id: Uuid; password_hash: string };

/**
 * Keyed with the password's hash, which only the database has: a new password invalidates access
 * tokens.
 */
const sign = ({ id, password_hash }: ProtectedShare, expires: number): Buffer =>
  createHmac("sha256", password_hash).update(`${id}\n${expires}`).digest();

/**
 * Creates an access token for a share after its password was checked. `now` is Unix milliseconds,
 * `expires` Unix seconds.
 */
export function grantAccess(
  share: ProtectedShare,
  now: number,
): { access: string; expires: number } {
  const expires = Math.floor(now / 1_000) + ACCESS_SECONDS;
  return { access: `${expires}.${sign(share, expires).toString("base64url")}`, expires };
}

/** Whether an access token belongs to this share and its current password, and has not expired. */
export function hasAccess(share: ProtectedShare, access: string, now: number): boolean {
  const { expires, signature } = ACCESS_FORM.exec(access)?.groups ?? {};
  if (expires === undefined || signature === undefined || Number(expires) * 1_000 <= now) {
    return false;
  }
  const given = Buffer.from(signature, "base64url");
  const expected = sign(share, Number(expires));
  return given.length === expected.length && timingSafeEqual(given, expected);
}
