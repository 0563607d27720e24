/**
 * Authenticates users by session cookie. The path names the account and the mode, as in
 * `/api/acct_…/live/v1/links`; the user's role in that account determines the permissions.
 */
import type { Mode } from "../../shared/contracts/link-record.ts";
import type { Role } from "../../shared/contracts/users.ts";
import { decodeId, type Uuid } from "../../shared/ids.ts";
import {
  type AccessRule,
  type AuthContext,
  Authenticator,
  permissionsOf,
} from "../auth/access-rules.ts";
import { ApiError, notFound } from "../http/errors.ts";
import type { Session } from "../http/principal.ts";
import { type Call, originOf, type ResponseSettings } from "../http/request-context.ts";
import { budgets } from "../limits/budgets.ts";
import { KeyWindow } from "../limits/windows.ts";
import type { ClientInfo } from "./attempts.ts";
import { notSignedIn } from "./service.ts";

/** Routes of a whole account have no mode in their path. */
const ACCOUNT_PATH_FORM =
  /^\/api\/(?<account>[^/]+)\/(?<mode>live|test|members|invitations)(?:\/|$)/;

/**
 * A user's membership of an account; `suspended` means that an operator has suspended the account,
 * and `lacks_factor` that the role needs a second factor.
 */
export type Membership = { role: Role; plan: string; suspended: boolean; lacks_factor: boolean };

export interface Memberships {
  findMembership(accountId: Uuid, userId: Uuid): Promise<Membership | undefined>;
}

/** Finds the session of a request, and whether it is still valid; both throw `unauthorized`. */
export interface Sessions {
  find(headers: Headers): Promise<Session>;
  requireValid(session: Session): Promise<void>;
}

/**
 * Throws `unauthorized`, `forbidden`, `rate_limited`, and `not_found` for other users' accounts.
 */
export class SessionAuthenticator extends Authenticator {
  readonly #sessions: Sessions;
  readonly #memberships: Memberships;
  readonly #users = new KeyWindow("user_requests");

  constructor(sessions: Sessions, memberships: Memberships) {
    super();
    this.#sessions = sessions;
    this.#memberships = memberships;
  }

  protected override async identify(
    { call, request, headers }: AuthContext,
    access: AccessRule | "session",
  ): Promise<void> {
    const session = await this.#sessions.find(request.headers);
    call.session = session;
    this.#users.enforce(session.user.id, headers);
    if (access === "session") return;
    const path = ACCOUNT_PATH_FORM.exec(new URL(request.url).pathname)?.groups;
    const accountId = decodeId("acct", path?.["account"] ?? "");
    if (accountId === undefined) throw notFound("account");
    const mode: Mode = path?.["mode"] === "test" ? "test" : "live";
    const requireMember = async () =>
      requireAllowed(await this.#memberships.findMembership(accountId, session.user.id), access);
    const { role, plan } = await requireMember();
    // Whichever of its users calls, in however many sessions.
    budgets.take({ accountId, plan }, "dashboard_requests", 1);
    const actor = { type: "user", id: session.user.id, origin: originOf(call) } as const;
    const scopes = permissionsOf(role);
    call.principal = { callerId: session.id, actor, accountId, mode, scopes, plan };
    call.confirm = async () => {
      await this.#sessions.requireValid(session);
      await requireMember();
    };
  }
}

/** Throws unless a membership allows what a route asks for. */
function requireAllowed(membership: Membership | undefined, { scope }: AccessRule): Membership {
  if (membership === undefined) throw notFound("account");
  if (membership.suspended) throw new ApiError("forbidden", "The account is suspended.");
  if (membership.lacks_factor)
    throw new ApiError("forbidden", "Your role in this account needs a second factor.");
  if (scope === null || permissionsOf(membership.role).includes(scope)) return membership;
  throw new ApiError(
    "forbidden",
    `Your role in this account, ${membership.role}, does not allow this.`,
  );
}

/** The session of a route with `access: "session"`. */
export function requireSession(call: Call | undefined): Session {
  if (call?.session === undefined) throw notSignedIn();
  return call.session;
}

/** Passes only the cookie and the browser's name to the library. */
export function clientInfo(call: Call, request: Request): ClientInfo {
  const headers = new Headers();
  for (const name of ["cookie", "user-agent"]) {
    const value = request.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  return { address: call.address, origin: originOf(call), headers };
}

/** The framework writes one header for each value. */
export function setCookies(set: ResponseSettings, cookies: string[]): void {
  if (cookies.length > 0) Object.assign(set.headers, { "set-cookie": cookies });
}
