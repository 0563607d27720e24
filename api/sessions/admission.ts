/**
 * Admits people by the cookie of their session. The path says for which account and mode they ask:
 * `/api/acct_…/live/v1/links`; their role there says what they may do.
 */
import type { Mode } from "../../shared/contracts/link-record.ts";
import type { Role } from "../../shared/contracts/people.ts";
import { decodeId, type Uuid } from "../../shared/ids.ts";
import type { Admit } from "../auth/plugin.ts";
import { ApiError, notFound } from "../http/errors.ts";
import type { AnonymousLimit } from "../limits/anonymous.ts";
import { createLocalLimit } from "../limits/local-limit.ts";
import { permissionsOf } from "../members/roles.ts";
import type { SessionService } from "./service.ts";

/**
 * Requests of one session a minute. A plan's limits are for its API; a page of the dashboard asks for a
 * dozen things, and an import for hundreds.
 */
const SESSION_LIMIT = { name: "session", allowed: 1_200, seconds: 60, keysMax: 50_000 };

/** What concerns an account as a whole has no mode in its path. */
const PLACE = /^\/api\/(?<account>[^/]+)\/(?<mode>live|test|members|invitations)(?:\/|$)/;

/** A person's place in an account. */
type Membership = { role: Role; plan: string; barred: boolean };

type SessionAdmissionDeps = {
  sessions: Pick<SessionService, "find">;
  findMembership: (accountId: Uuid, userId: Uuid) => Promise<Membership | undefined>;
  anonymousLimit: AnonymousLimit;
};

/** Throws `unauthorized`, `forbidden`, `not_found` for accounts of others, and `rate_limited`. */
export function createSessionAdmission({
  sessions,
  findMembership,
  anonymousLimit,
}: SessionAdmissionDeps): Admit {
  const sessionLimit = createLocalLimit(SESSION_LIMIT);

  return async ({ call, request, headers }, access) => {
    if (access === "public") {
      anonymousLimit.admit(call.address, headers);
      return;
    }
    const session = await sessions.find(request.headers);
    call.session = session;
    sessionLimit.admit(session.id, headers);
    if (access === "session") return;
    const place = PLACE.exec(new URL(request.url).pathname)?.groups;
    const accountId = decodeId("acct", place?.["account"] ?? "");
    const membership =
      accountId === undefined ? undefined : await findMembership(accountId, session.user.id);
    if (accountId === undefined || membership === undefined) throw notFound("account");
    if (membership.barred) throw new ApiError("forbidden", "The account is suspended.");
    const scopes = permissionsOf(membership.role);
    if (access.scope !== null && !scopes.includes(access.scope)) {
      throw new ApiError(
        "forbidden",
        `Your role in this account, ${membership.role}, does not allow this.`,
      );
    }
    const mode: Mode = place?.["mode"] === "test" ? "test" : "live";
    call.principal = { callerId: session.id, accountId, mode, scopes, plan: membership.plan };
  };
}
