/**
 * The authentication library, set up for what the dashboard needs of it: passwords and sessions. It is
 * called as a library alone; none of its own HTTP endpoints is reachable.
 */
import { betterAuth } from "better-auth";
import { PostgresJSDialect } from "kysely-postgres-js";

import { PASSWORD_LENGTH } from "../../shared/contracts/people.ts";
import { hashPassword } from "../http/password.ts";
import type { Sql } from "../postgres.ts";

/** A session ends after a week without a visit. */
const SESSION_SECONDS = 7 * 86_400;

/** How often a session that is used is extended, and so written. */
const EXTENDED_EVERY_SECONDS = 86_400;

const times = { createdAt: "created_at", updatedAt: "updated_at" };

export type AuthLibrary = ReturnType<typeof openAuthLibrary>;

/** `url` is where the dashboard is; `secret` signs the cookies. */
export const openAuthLibrary = (sql: Sql, url: string, secret: string) =>
  betterAuth({
    baseURL: url,
    secret,
    telemetry: { enabled: false },
    logger: { disabled: true },
    database: { dialect: new PostgresJSDialect({ postgres: sql }), type: "postgres" },
    emailAndPassword: {
      enabled: true,
      // By this process alone, for whom an operator or an owner has asked in.
      autoSignIn: false,
      minPasswordLength: PASSWORD_LENGTH.min,
      maxPasswordLength: PASSWORD_LENGTH.max,
      password: {
        hash: hashPassword,
        verify: ({ hash, password }) => Bun.password.verify(password, hash),
      },
    },
    user: { modelName: "users", fields: { emailVerified: "email_verified", ...times } },
    session: {
      modelName: "sessions",
      fields: {
        userId: "user_id",
        expiresAt: "expires_at",
        userAgent: "user_agent",
        ipAddress: "ip_address",
        ...times,
      },
      expiresIn: SESSION_SECONDS,
      updateAge: EXTENDED_EVERY_SECONDS,
    },
    account: {
      modelName: "credentials",
      fields: {
        userId: "user_id",
        providerId: "provider_id",
        accountId: "account_id",
        accessToken: "access_token",
        refreshToken: "refresh_token",
        idToken: "id_token",
        accessTokenExpiresAt: "access_token_expires_at",
        refreshTokenExpiresAt: "refresh_token_expires_at",
        ...times,
      },
    },
    verification: {
      modelName: "verifications",
      fields: { expiresAt: "expires_at", ...times },
    },
    // Its windows are kept by address, which is not to be stored: see attempts.ts.
    rateLimit: { enabled: false },
    advanced: {
      cookiePrefix: "shorthop",
      defaultCookieAttributes: { sameSite: "strict", httpOnly: true, path: "/" },
      database: { generateId: "uuid" },
      ipAddress: { disableIpTracking: true },
    },
  });
