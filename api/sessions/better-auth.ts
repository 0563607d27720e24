/**
 * Better Auth, configured for the dashboard's sign-ins and sessions. It is only called as a
 * library; none of its HTTP endpoints is reachable.
 */
import "./reflect-metadata.ts";

import { passkey } from "@better-auth/passkey";
import { betterAuth, type BetterAuthOptions } from "better-auth";
import { APIError, isAPIError } from "better-auth/api";
import { twoFactor } from "better-auth/plugins/two-factor";
import { PostgresJSDialect } from "kysely-postgres-js";

import { PASSWORD_LENGTH } from "../../shared/contracts/users.ts";
import { DAY_SECONDS } from "../../shared/durations.ts";
import { type ApiError, unavailable } from "../http/errors.ts";
import type { UserPasswords } from "../passwords/hashing.ts";
import type { Sql } from "../postgres.ts";

/** A session expires after a week without a request. */
const SESSION_SECONDS = 7 * DAY_SECONDS;

/**
 * Maximum stored characters of a session's user agent, which names the device in the list of
 * devices.
 */
const USER_AGENT_LENGTH_MAX = 512;

/** How often a session in use is extended, which writes it to the database. */
const EXTENDED_EVERY_SECONDS = DAY_SECONDS;

const times = { createdAt: "created_at", updatedAt: "updated_at" };

/** The columns of the library's accounts, which are credentials here. */
const CREDENTIAL_COLUMNS = {
  userId: "user_id",
  providerId: "provider_id",
  accountId: "account_id",
  accessToken: "access_token",
  refreshToken: "refresh_token",
  idToken: "id_token",
  accessTokenExpiresAt: "access_token_expires_at",
  refreshTokenExpiresAt: "refresh_token_expires_at",
  ...times,
};

/** Sessions of a user at once; a further one ends that which was not seen for longest. */
const SESSIONS_MAX = 50;

/** How long the password of a sign-in is good for its second factor. */
const CHALLENGE_SECONDS = 600;

/** The second factor: codes of an app (RFC 6238), and recovery codes. */
const secondFactor = () =>
  twoFactor({
    issuer: "Shorthop",
    twoFactorCookieMaxAge: CHALLENGE_SECONDS,
    schema: {
      user: { fields: { twoFactorEnabled: "has_second_factor" } },
      twoFactor: {
        modelName: "second_factors",
        fields: {
          backupCodes: "recovery_codes",
          userId: "user_id",
          failedVerificationCount: "wrong_codes",
          lockedUntil: "locked_until",
        },
      },
    },
  });

/** Passkeys of the dashboard: authenticators ask for a fingerprint, a face or a PIN. */
const passkeys = (origin: string) =>
  passkey({
    rpID: new URL(origin).hostname,
    rpName: "Shorthop",
    origin,
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
    // The library asks for no more than that somebody has touched the authenticator.
    registration: {
      afterVerification: ({ verification: { registrationInfo } }) =>
        requireVerified(registrationInfo?.userVerified),
    },
    authentication: {
      afterVerification: ({ verification: { authenticationInfo } }) =>
        requireVerified(authenticationInfo.userVerified),
    },
    advanced: { webAuthnChallengeCookie: "passkey" },
    schema: {
      passkey: {
        modelName: "passkeys",
        fields: {
          publicKey: "public_key",
          userId: "user_id",
          credentialID: "credential_id",
          deviceType: "device_type",
          backedUp: "backed_up",
          createdAt: "created_at",
        },
      },
    },
  });

function requireVerified(userVerified: boolean | undefined): void {
  if (userVerified !== true) throw new APIError("UNAUTHORIZED", { code: "NOT_VERIFIED" });
}

export class AuthLibrary {
  readonly api;
  readonly context;

  constructor(options: LibrarySettings) {
    const auth = betterAuth({ ...options, plugins: [secondFactor(), passkeys(options.baseURL)] });
    this.api = auth.api;
    this.context = auth.$context;
  }
}

/** The options of the library, without plugins. */
export type LibrarySettings = Omit<BetterAuthOptions, "plugins" | "baseURL"> & { baseURL: string };

/** `url` is the dashboard's; `secret` signs the cookies and encrypts second factors and tokens. */
export const librarySettings = (
  sql: Sql,
  passwords: UserPasswords,
  url: string,
  secret: string,
): LibrarySettings => ({
  baseURL: url,
  secret,
  telemetry: { enabled: false },
  logger: { disabled: true },
  database: { dialect: new PostgresJSDialect({ postgres: sql }), type: "postgres" },
  emailAndPassword: {
    enabled: true,
    // Users are created only by this process, for an operator or an invitation; there is no
    // sign-up.
    autoSignIn: false,
    minPasswordLength: PASSWORD_LENGTH.min,
    maxPasswordLength: PASSWORD_LENGTH.max,
    password: {
      hash: (password) => passwords.hashForUser(password),
      verify: ({ hash, password }) => passwords.verifyForUser(password, hash),
    },
  },
  user: {
    modelName: "users",
    fields: { emailVerified: "email_verified", ...times },
  },
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
    // A user who changes how they sign in enters their password, however fresh the session is.
    freshAge: 0,
    updateAge: EXTENDED_EVERY_SECONDS,
  },
  databaseHooks: {
    session: {
      create: {
        before: (session) =>
          Promise.resolve({ data: { ...session, userAgent: shorten(session.userAgent) } }),
        after: async ({ userId }) => {
          await sql`
            delete from sessions where id in (
              select id from sessions where user_id = ${userId}
               order by updated_at desc, created_at desc, id desc offset ${SESSIONS_MAX})`;
        },
      },
    },
  },
  account: {
    modelName: "credentials",
    fields: CREDENTIAL_COLUMNS,
  },
  verification: {
    modelName: "verifications",
    fields: { expiresAt: "expires_at", ...times },
  },
  // It would store clients' addresses in plain text; `attempts.ts` limits attempts instead.
  rateLimit: { enabled: false },
  advanced: {
    cookiePrefix: "shorthop",
    defaultCookieAttributes: { sameSite: "strict", httpOnly: true, path: "/" },
    database: { generateId: "uuid" },
    ipAddress: { disableIpTracking: true },
  },
});

const shorten = (userAgent: string | null | undefined): string | null =>
  userAgent?.slice(0, USER_AGENT_LENGTH_MAX).toWellFormed() ?? null;

/**
 * Replaces the library's errors: an internal failure by `unavailable`, a rejection by what
 * `toError` makes of its code.
 */
export async function translateErrors<T>(
  result: Promise<T>,
  toError?: (code: string) => ApiError,
): Promise<T> {
  try {
    return await result;
  } catch (error) {
    if (!isAPIError(error)) throw error;
    const code = error.body?.code ?? "";
    // The library responds with a 500 to a passkey that is nonsense.
    const isRejection = error.statusCode < 500 || code === "FAILED_TO_VERIFY_REGISTRATION";
    if (!isRejection) throw unavailable(error);
    if (toError !== undefined) throw toError(code);
    throw error;
  }
}
