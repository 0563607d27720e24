/**
 * Signing in with the provider of OpenID Connect. Better Auth speaks the protocol: discovery, PKCE,
 * state, nonce, and the signature of ID tokens. What the provider says of somebody decides on their
 * role, at each sign-in; afterwards it is asked again and again whether they are still there.
 */
import { AsyncLocalStorage } from "node:async_hooks";

import { betterAuth } from "better-auth";
import { APIError } from "better-auth/api";
import { genericOAuth } from "better-auth/plugins/generic-oauth";
import * as z from "zod";

import { type Role, userName } from "../../shared/contracts/users.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { repeatEvery } from "../../shared/repeat.ts";
import { withTimeout } from "../../shared/timeout.ts";
import { ApiError } from "../http/errors.ts";
import type { MemberService } from "../members/service.ts";
import type { Sql } from "../postgres.ts";
import { type ClientInfo, recordSignIn } from "../sessions/attempts.ts";
import { type LibrarySettings, translateErrors } from "../sessions/better-auth.ts";
import type { Provider, SignedOut } from "../sessions/service.ts";
import { claimsSchema, domainOf, type OidcSettings, roleOf } from "./settings.ts";

/** The path to which the provider sends people back. */
const CALLBACK_PATH = "/auth/oidc/callback";

/** Time between two rounds. */
const ROUND_MS = 30_000;

/** How often the provider is asked about somebody who has a session. */
const ASK_EVERY_MINUTES = 4;

/**
 * How long a session lasts without the provider's word; it ends in the next round. So somebody who
 * has left the provider is soon signed out.
 */
const UNCONFIRMED_MINUTES = 13;

/** People whom one round asks about, and at once: a round is to take less than its interval. */
const ASKED_MAX = 500;
const ASKED_AT_ONCE_MAX = 8;

/** How long the provider may take to answer, also about somebody. */
const ANSWER_MS = 5_000;

/** Why the provider's word is not enough; the sign-in page has a text for each. */
const REFUSALS = [
  "access_denied",
  "break_glass",
  "email_not_verified",
  "last_owner",
  "no_role",
  "not_linked",
] as const;

/** Better Auth's name of the provider, in `credentials`. */
const PROVIDER = "oidc";

/** A user with a session, of whom the provider is to be asked. */
type AskedUser = { id: Uuid; user_id: Uuid; has_refresh_token: boolean };

/** The role and user of a sign-in that is under way, as soon as they are known. */
type SignIn = { role?: Role; userId?: Uuid };

export class OidcService implements Provider {
  readonly #sql: Sql;
  readonly #settings: OidcSettings;
  readonly #members: MemberService;
  readonly #options: LibrarySettings;
  readonly #log: Log;
  /** Undefined until the provider has answered for the first time. */
  #library: ProviderLibrary | undefined;
  #problem: string | undefined;
  readonly #signIns = new AsyncLocalStorage<SignIn>();

  /** `options` are those of the library without a provider. */
  constructor(
    sql: Sql,
    settings: OidcSettings,
    members: MemberService,
    options: LibrarySettings,
    log: Log,
  ) {
    this.#sql = sql;
    this.#settings = settings;
    this.#members = members;
    this.#options = options;
    this.#log = log;
  }

  /** Why the provider cannot be used, as far as is known; undefined while it can. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Asks the provider for its endpoints unless they are known; undefined without an answer. */
  async #reach(): Promise<ProviderLibrary | undefined> {
    if (this.#library === undefined) await this.#look();
    return this.#library;
  }

  /** Looks whether the provider answers; what it says of its endpoints is read once. */
  async #look(): Promise<void> {
    const before = this.#problem;
    this.#problem = await withTimeout(this.#findProblem(), ANSWER_MS).catch(
      (error: unknown) =>
        `${this.#settings.issuer} does not answer: ${error instanceof Error ? error.message : ""}`,
    );
    if (this.#problem !== undefined && this.#problem !== before)
      this.#log.warn({ reason: this.#problem }, "oidc_provider_unreachable");
  }

  async #findProblem(): Promise<string | undefined> {
    const url = discoveryOf(this.#settings);
    const { ok, status, body } = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) });
    await body?.cancel();
    if (!ok) return `${url} responds with ${status}`;
    if (this.#library !== undefined) return undefined;
    const library = new ProviderLibrary(this.#settings, this.#options, {
      validate: (...user) => this.#validate(...user),
      admit: (userId) => this.#admit(userId),
    });
    const { socialProviders } = await library.context;
    if (!socialProviders.some(({ id }) => id === PROVIDER))
      return `${url} does not say where to sign in, get tokens and find the keys of ID tokens`;
    this.#library = library;
    return undefined;
  }

  /** The page of the provider on which somebody signs in. Throws `unavailable`. */
  async begin(headers: Headers): Promise<{ url: string; cookies: string[] }> {
    const library = await this.#reach();
    if (library === undefined) throw unreachable();
    const begun = await translateErrors(
      library.api.signInSocial({
        body: { provider: PROVIDER, callbackURL: "/", disableRedirect: true },
        headers,
        returnHeaders: true,
      }),
      unreachable,
    );
    return { url: begun.response.url ?? "/", cookies: begun.headers.getSetCookie() };
  }

  /**
   * Ends what `begin` began, by the query with which the provider sends somebody back. Returns the
   * path of the dashboard that comes next, with why they are not signed in.
   */
  async finish(
    query: Record<string, string | undefined>,
    { headers, origin }: ClientInfo,
  ): Promise<{ path: string; cookies: string[] }> {
    const signIn: SignIn = {};
    const library = await this.#reach();
    if (library === undefined) return { path: "/?sign-in=failed", cookies: [] };
    const response = await this.#signIns.run(signIn, () =>
      library.api.callbackOAuth({
        method: "GET",
        params: { id: PROVIDER },
        query,
        headers,
        asResponse: true,
      }),
    );
    const location = URL.parse(response.headers.get("location") ?? "", "http://localhost");
    const error = location === null ? "failed" : location.searchParams.get("error");
    const cookies = response.headers.getSetCookie();
    const isSignedIn = error === null && response.status < 400;
    const { userId } = signIn;
    if (userId !== undefined) {
      const type = isSignedIn ? "session.started" : "session.refused";
      await recordSignIn(this.#sql, type, { userId, method: "oidc", origin });
    }
    if (isSignedIn) return { path: "/", cookies };
    const reason = REFUSALS.find((known) => known === error) ?? "failed";
    // The error is a text of a stranger.
    this.#log.warn(
      { reason: /^[a-z_]{1,60}$/i.test(error ?? "") ? error : "" },
      "oidc_sign_in_refused",
    );
    return { path: `/?sign-in=${reason}`, cookies: cookies.filter((cookie) => !isSession(cookie)) };
  }

  /**
   * Ends the session of a request; returns the page of the provider that ends its own. Undefined
   * if the provider is not known yet: then nothing is done.
   */
  async signOut(headers: Headers): Promise<SignedOut | undefined> {
    if (this.#library === undefined) return undefined;
    const { response, headers: set } = await translateErrors(
      this.#library.api.signOut({ body: { disableRedirect: true }, headers, returnHeaders: true }),
    );
    return { cookies: set.getSetCookie(), url: response.url };
  }

  /** Confirms sessions again and again; returns what ends that. */
  confirmRepeatedly(): () => Promise<void> {
    const rounds = repeatEvery(ROUND_MS, () => this.confirmSessions(), {
      log: this.#log,
      failure: "oidc_confirmation_failed",
    });
    return () => rounds.stop();
  }

  /** Ends the sessions of those whom the provider no longer vouches for; asks it about some. */
  async confirmSessions(): Promise<void> {
    const sql = this.#sql;
    await sql`
      delete from sessions where user_id in (
        select user_id from credentials
         where provider_id = ${PROVIDER}
           and confirmed_at < clock_timestamp() - make_interval(mins => ${UNCONFIRMED_MINUTES}))`;
    if (this.#settings.only) await this.#endLocalSessions();
    await this.#look();
    const library = this.#library;
    if (library === undefined) return;
    const users = await takeUsersToAsk(sql);
    const askSome = async (): Promise<void> => {
      for (let user = users.pop(); user !== undefined; user = users.pop())
        if (await vouchesFor(library, user))
          await sql`
            update credentials set confirmed_at = clock_timestamp()
             where user_id = ${user.user_id} and provider_id = ${PROVIDER}`;
    };
    await Promise.all(Array.from({ length: ASKED_AT_ONCE_MAX }, askSome));
  }

  /** Ends the sessions of users whom the provider does not know, but for the emergency address. */
  async #endLocalSessions(): Promise<void> {
    await this.#sql`
      delete from sessions where user_id in (
        select id from users
         where email <> ${this.#settings.breakGlass ?? ""}
           and not exists (select from credentials c
                            where c.user_id = users.id and c.provider_id = ${PROVIDER}))`;
  }

  /** Decides whether somebody may sign in as a user, or as a new one without an id. */
  async #validate(
    userId: Uuid | undefined,
    action: string,
    profile: unknown,
  ): Promise<{ error: string } | undefined> {
    const signIn = this.#signIns.getStore();
    if (signIn !== undefined && userId !== undefined) signIn.userId = userId;
    const { data: claims } = claimsSchema.safeParse(profile);
    if (claims === undefined) return { error: "email_not_verified" };
    const { breakGlass, trustedDomains, accountId } = this.#settings;
    if (claims.email === breakGlass) return { error: "break_glass" };
    // Somebody has the address here: only of some domains the provider says who that is, and once.
    if (action === "link-account") {
      const isTrusted = trustedDomains.includes(domainOf(claims.email));
      const isTaken = userId === undefined || (await this.#isProviderUser(userId));
      if (!isTrusted || isTaken) return { error: "not_linked" };
    }
    const role = roleOf(this.#settings, claims);
    if (role !== undefined && signIn !== undefined) {
      signIn.role = role;
      return undefined;
    }
    if (action === "sign-in" && userId !== undefined) {
      await this.#sql`delete from sessions where user_id = ${userId}`;
      await this.#members.follow(accountId, userId, undefined);
    }
    return { error: "no_role" };
  }

  async #isProviderUser(userId: Uuid): Promise<boolean> {
    const { count } = await this.#sql`
      select from credentials where user_id = ${userId} and provider_id = ${PROVIDER}`;
    return count > 0;
  }

  /** Gives a user the role that they have by the provider, before their session begins. */
  async #admit(userId: Uuid): Promise<void> {
    const signIn = this.#signIns.getStore();
    const role = signIn?.role;
    if (signIn === undefined || role === undefined)
      throw new Error("The provider has given no role.");
    signIn.userId = userId;
    await makeProviderUser(this.#sql, userId);
    await this.#members.follow(this.#settings.accountId, userId, role).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      throw new APIError("FORBIDDEN", { code: "last_owner", message: error.message });
    });
  }
}

/** What the library asks about people, before they become users and get sessions. */
type Gate = {
  validate: (
    userId: Uuid | undefined,
    action: string,
    profile: unknown,
  ) => Promise<{ error: string } | undefined>;
  admit: (userId: Uuid) => Promise<void>;
};

/** Better Auth with the provider, whose endpoints it reads as it begins. */
class ProviderLibrary {
  readonly api;
  readonly context;

  /** `options` are those of the library without a provider. */
  constructor(settings: OidcSettings, options: LibrarySettings, { validate, admit }: Gate) {
    const databaseHooks = {
      session: { create: { before: ({ userId }: { userId: Uuid }) => admit(userId) } },
    };
    const auth = betterAuth({
      ...options,
      user: {
        ...options.user,
        validateUserInfo: ({ user, source }) =>
          validate(user.id, source.action, source.oauth?.profile),
      },
      account: {
        ...options.account,
        encryptOAuthTokens: true,
        // `validate` decides instead, and the user keeps no other credentials.
        accountLinking: { requireLocalEmailVerified: false },
      },
      // The provider sends people back from another site.
      advanced: { ...options.advanced, cookies: { state: { attributes: { sameSite: "lax" } } } },
      plugins: [
        genericOAuth({ config: [providerOf(settings, options.baseURL)] }),
        { id: "roles", init: () => ({ options: { databaseHooks } }) },
      ],
    });
    this.api = auth.api;
    this.context = auth.$context;
  }
}

/** Whether the provider says that somebody is still there; false if it does not answer. */
async function vouchesFor(
  { api, context }: ProviderLibrary,
  { id, user_id: userId, has_refresh_token }: AskedUser,
): Promise<boolean> {
  const account = { body: { accountId: id, userId } };
  const ask = async (): Promise<boolean> => {
    if (has_refresh_token) return (await api.refreshToken(account)).accessToken !== "";
    const { accessToken } = await api.getAccessToken(account);
    const { socialProviders } = await context;
    const provider = socialProviders.find((one) => one.id === PROVIDER);
    return accessToken !== undefined && (await provider?.getUserInfo({ accessToken })) != null;
  };
  return await withTimeout(ask(), ANSWER_MS).catch(() => false);
}

const unreachable = (): ApiError =>
  new ApiError("unavailable", "The provider cannot be reached. Try again shortly.", {
    retryAfterSeconds: 5,
  });

const isSession = (cookie: string): boolean =>
  /^(?:__Secure-)?shorthop\.session_token=/.test(cookie);

const named = userName.optional().catch(undefined);

const profileSchema = z.object({ name: named, preferred_username: named, email: named });

/** The name that the provider says; the address if it says none. */
function nameOf(profile: unknown): string {
  const said = profileSchema.parse(profile);
  return said.name ?? said.preferred_username ?? said.email ?? "";
}

const discoveryOf = ({ issuer }: OidcSettings): string =>
  `${issuer}/.well-known/openid-configuration`;

const providerOf = (settings: OidcSettings, origin: string) => ({
  providerId: PROVIDER,
  discoveryUrl: discoveryOf(settings),
  clientId: settings.clientId,
  clientSecret: settings.clientSecret,
  scopes: settings.scopes,
  redirectURI: `${origin}${CALLBACK_PATH}`,
  postLogoutRedirectURI: origin,
  requireIdTokenVerification: true,
  mapProfileToUser: (profile: unknown) => ({
    name: nameOf(profile),
    image: undefined,
    emailVerified: claimsSchema.safeParse(profile).success,
  }),
});

/**
 * Records that the provider has just vouched for a user, who from now on signs in with it alone:
 * takes away whatever else lets somebody in as them, with the sessions that it has begun.
 */
async function makeProviderUser(sql: Sql, userId: Uuid): Promise<void> {
  await sql.begin(async (sql) => {
    await sql`
      update credentials set confirmed_at = clock_timestamp(), asked_at = clock_timestamp()
       where user_id = ${userId} and provider_id = ${PROVIDER}`;
    const { count } = await sql`
      delete from credentials where user_id = ${userId} and provider_id = 'credential'`;
    if (count > 0) await sql`delete from sessions where user_id = ${userId}`;
    await sql`delete from second_factors where user_id = ${userId}`;
    await sql`delete from passkeys where user_id = ${userId}`;
    await sql`delete from password_resets where user_id = ${userId}`;
    await sql`
      update users set email_verified = true, has_second_factor = false where id = ${userId}`;
  });
}

/**
 * Takes users whom the provider has not been asked about for a while; no other process gets them
 * before that has passed again.
 */
const takeUsersToAsk = (sql: Sql): Promise<AskedUser[]> => sql<AskedUser[]>`
  update credentials set asked_at = clock_timestamp()
   where id in (
     select id from credentials
      where provider_id = ${PROVIDER} and asked_at < clock_timestamp() - make_interval(mins => ${ASK_EVERY_MINUTES})
        and exists (select from sessions where sessions.user_id = credentials.user_id)
      order by asked_at limit ${ASKED_MAX} for update skip locked)
  returning id, user_id, refresh_token is not null as has_refresh_token`;
