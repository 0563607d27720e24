/**
 * Goal: an invitation proves nothing about its e-mail address, so who accepts one keeps nobody else
 * out.
 */
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";

import { WINDOWS } from "../../shared/budgets.ts";
import { decodeId } from "../../shared/ids.ts";
import { startPostgres, type TestPostgres } from "../../test/harness/postgres.ts";
import type { User } from "../http/principal.ts";
import { PasswordHashing } from "../passwords/hashing.ts";
import { createAttempts } from "../sessions/attempts.ts";
import { openAuthLibrary } from "../sessions/better-auth.ts";
import { createDeviceCookies } from "../sessions/device-cookie.ts";
import { createPasswordStrength } from "../sessions/password-strength.ts";
import { createSessionService } from "../sessions/service.ts";
import { createUserService } from "../sessions/users.ts";
import { createMemberService } from "./service.ts";

// Starts a real server, on a machine that may be busy, and hashes passwords.
setDefaultTimeout(60_000);

const SECRET = "a secret of this test, long enough";
const THEIRS = "tomato-harbor-lantern";
const OWN = "pepper-anchor-window";

let postgres: TestPostgres;
let services: ReturnType<typeof createServices>;
beforeAll(async () => {
  postgres = await startPostgres();
  services = createServices(postgres);
});
afterAll(async () => await postgres[Symbol.asyncDispose]());

/** Every test has an address of its own. */
let address: string;
let tests = 0;
beforeEach(() => void (address = `person-${tests++}@example.com`));

function createServices(
  { sql }: TestPostgres,
  correctPasswords: { limit: number; seconds: number } = WINDOWS.correct_passwords,
) {
  const library = openAuthLibrary(sql, new PasswordHashing(), "http://localhost", SECRET);
  const requireStrongPassword = createPasswordStrength();
  const users = createUserService({ sql, library, requireStrongPassword });
  const attempts = createAttempts(sql, SECRET, correctPasswords);
  const devices = createDeviceCookies(SECRET, false);
  return {
    users,
    members: createMemberService({ sql, users }),
    sessions: createSessionService({ sql, library, attempts, devices, requireStrongPassword }),
  };
}

/** Returns the signed-in user and the accounts that they see, or the error's code. */
async function signIn(
  password: string,
  account?: string,
  { sessions, members } = services,
): Promise<{ user: User; accounts: string[] } | string> {
  const client = { address: "203.0.113.1", headers: new Headers() };
  try {
    const attempt = { email: address, password, account: decodeId("acct", account ?? "") };
    const cookies = await sessions.signIn(attempt, client);
    const cookie = cookies.map((value) => value.split(";")[0]).join("; ");
    const { user } = await sessions.find(new Headers({ cookie }));
    return { user, accounts: (await members.listAccounts(user.id)).map(({ id }) => id) };
  } catch (error) {
    return reasonOf(error);
  }
}

const reasonOf = (error: unknown): string => (error as { reason: string }).reason;

/**
 * Invites the address to a new account; accepting returns the account's id, or the error's code.
 */
async function invite() {
  const accountId = await postgres.addAccount();
  return inviteTo(accountId);
}

async function inviteTo(accountId: string) {
  const { token } = await services.members.invite(accountId, address, "member");
  const accept = (password: string, user?: User) =>
    services.members.accept(token, user, { name: "Somebody", password }).then(
      (joined) => joined.accountId,
      (error: unknown) => reasonOf(error),
    );
  return { accountId, accept, offer: () => services.members.getOffer(token) };
}

test("who accepted an invitation for somebody else's address does not keep them out of another account", async () => {
  const [first, second] = [await invite(), await invite()];
  const taken = await first.accept(THEIRS);
  expect(await second.offer()).toMatchObject({ email: address, known: false });
  const joined = await second.accept(OWN);
  expect(await signIn(OWN)).toMatchObject({ user: { email: address }, accounts: [joined] });
  expect(await signIn(THEIRS)).toMatchObject({ user: { email: address }, accounts: [taken] });
  expect(await signIn("neither of the two")).toBe("unauthorized");
  expect(await services.members.list(second.accountId)).toMatchObject({
    members: [{ email: address }],
  });
});

test("strangers of many accounts with somebody's address do not keep them out of their own", async () => {
  for (let i = 0; i < 8; i++) await (await invite()).accept(`${THEIRS}-${i}`);
  const joined = await (await invite()).accept(OWN);
  expect(await signIn(OWN, joined)).toMatchObject({ user: { email: address }, accounts: [joined] });
  // Elsewhere a password is compared with few.
  expect(await signIn(OWN)).toBe("unauthorized");
  expect(await signIn(`${THEIRS}-0`, joined)).toMatchObject({ user: { email: address } });
});

test("the user of an address that an operator creates is the one who has it", async () => {
  const taken = await (await invite()).accept(THEIRS);
  const id = await services.users.create({ email: address, name: "Real", password: OWN });
  await services.users.markVerified(id);
  expect(await services.users.findByEmail(address)).toBe(id);
  expect(await signIn(OWN)).toMatchObject({ user: { id, email: address }, accounts: [] });
  expect(await signIn(THEIRS)).toMatchObject({ accounts: [taken] });
  const invitation = await invite();
  expect(await invitation.offer()).toMatchObject({ known: true });
  expect(await invitation.accept(THEIRS)).toBe("invalid_request");
});

test("who joins a second account with the password of the first is one user", async () => {
  const accounts = [await (await invite()).accept(OWN), await (await invite()).accept(OWN)];
  expect(await signIn(OWN)).toMatchObject({ accounts });
});

test("a user who is signed in joins a second account, with the address of the first", async () => {
  const first = await (await invite()).accept(THEIRS);
  const other = await (await invite()).accept(OWN);
  const signedIn = await signIn(THEIRS);
  if (typeof signedIn === "string") throw new Error(signedIn);
  const third = await (await invite()).accept("ignored", signedIn.user);
  expect(await signIn(THEIRS)).toMatchObject({ accounts: [first, third] });
  expect(await signIn(OWN)).toMatchObject({ accounts: [other] });
});

test("an account has one member of an address", async () => {
  const invitation = await invite();
  await invitation.accept(OWN);
  const again = await inviteTo(invitation.accountId);
  expect(await again.offer()).toMatchObject({ known: true });
  expect(await again.accept(THEIRS)).toBe("invalid_request");
});

test("an invitation is good for one password, and for another try when it is too weak", async () => {
  const invitation = await invite();
  expect(await invitation.accept("password12")).toBe("invalid_request");
  const outcomes = await Promise.all(
    ["lemon-quarry-violet", "copper-meadow-ticket", "silver-canyon-basket"].map((password) =>
      invitation.accept(password),
    ),
  );
  expect(outcomes.filter((outcome) => outcome === "not_found")).toHaveLength(2);
  const [{ count } = { count: 0 }] = await postgres.sql<{ count: number }[]>`
    select count(*)::integer as count from users where ${address} in (email, address)`;
  expect(count).toBe(1);
});

test("a user who signs in too often is limited, and nobody else of the same address", async () => {
  const limited = createServices(postgres, { limit: 2, seconds: 900 });
  const [first, second] = [await invite(), await invite()];
  await first.accept(THEIRS);
  await second.accept(OWN);
  for (let i = 0; i < 2; i++) expect(await signIn(THEIRS, undefined, limited)).toBeObject();
  expect(await signIn("neither of the two", undefined, limited)).toBe("unauthorized");
  // Of the two users of this address, only the one whose password it was is limited.
  expect(await signIn(THEIRS, undefined, limited)).toBe("unauthorized");
  for (let i = 0; i < 2; i++) expect(await signIn(OWN, undefined, limited)).toBeObject();
  expect(await signIn(OWN, undefined, limited)).toBe("rate_limited");
});
