/**
 * Goal: an e-mail address has one user. An invitation proves nothing about it, so whoever accepted
 * one gives way to the person who proves it; and nobody gets more guesses at a password than the
 * limits say, whatever else they may sign in as.
 */
import { beforeEach, expect, test } from "bun:test";

import { encodeId, type Uuid } from "../../shared/ids.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { reasonOf } from "../../test/harness/outcomes.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import {
  Browser,
  newNetwork,
  ORIGIN,
  SessionServices,
} from "../../test/harness/session-services.ts";
import { OPERATOR, type User } from "../http/principal.ts";
import { type Call, confirmOf } from "../http/request-context.ts";
import { SessionAuthenticator } from "../sessions/session-auth.ts";

const THEIRS = "tomato-harbor-lantern";
const OWN = "pepper-anchor-window";

const postgres = await forFile(startPostgres());
const services = new SessionServices(postgres);

/** Every test has an address of its own. */
let address: string;
let tests = 0;
beforeEach(() => void (address = `person-${tests++}@example.com`));

const browse = (email = address, using = services) => new Browser(using, email);

async function signedIn(password: string): Promise<Browser> {
  const browser = browse();
  expect(await browser.signIn(password)).toBe("in");
  return browser;
}

const userOf = async (browser: Browser): Promise<User> => (await browser.session()).user;

/** The signed-in user and the accounts that they see, or the error's code. */
const see = (browser: Browser) =>
  browser.session().then(async ({ user }) => {
    const accounts = await services.members.listAccounts(user.id);
    return { user, accounts: accounts.map(({ id }) => id) };
  }, reasonOf);

/** Invites an address to an account, by default to a new one. */
async function invite(accountId?: Uuid) {
  const account = accountId ?? (await postgres.addAccount());
  const { token } = await services.members.invite(
    { accountId: account, actor: OPERATOR },
    address,
    "member",
  );
  /** Returns the account's id, or the error's code. */
  const accept = (password: string, user?: User) =>
    services.members
      .accept(token, user, { name: "Somebody", password }, ORIGIN)
      .then((joined) => joined.accountId, reasonOf);
  return { account, accept, offer: () => services.members.getOffer(token) };
}

/** The address gets a user by an invitation, whom nobody has proven to be its owner. */
const join = async (password: string) => await (await invite()).accept(password);

test("an address that has a user is accepted only in that user's session", async () => {
  const first = await join(OWN);
  const second = await invite();
  expect(await second.offer()).toMatchObject({ email: address, known: true });
  services.hashed.length = 0;
  // Neither a new password nor the user's own is compared, so none can be tried.
  expect(await second.accept(THEIRS)).toBe("invalid_request");
  expect(await second.accept(OWN)).toBe("invalid_request");
  expect(services.hashed).toEqual([]);
  const browser = await signedIn(OWN);
  const user = await userOf(browser);
  const stranger = { ...user, email: "stranger@example.com" };
  expect(await second.accept("ignored", stranger)).toBe("forbidden");
  const joined = await second.accept("ignored", user);
  expect(await see(browser)).toMatchObject({
    user: { email: address },
    accounts: [first, joined],
  });
});

test("an owner who is invited as something less stays an owner", async () => {
  await join(OWN);
  const user = await userOf(await signedIn(OWN));
  const { account, accept } = await invite();
  await services.members.add(account, user.id, "owner");
  expect(await accept("ignored", user)).toBe(encodeId("acct", account));
  const { members } = await services.members.list(account);
  expect(members).toMatchObject([{ user_id: user.id, role: "owner" }]);
});

test("PostgreSQL has one user of an address, however it is written", async () => {
  await join(OWN);
  expect(await addUser(address)).toBe("23505");
  expect(await addUser(address.toUpperCase())).toBe("23514");
});

const addUser = (email: string) =>
  postgres.sql`insert into users (email, name) values (${email}, 'n')`.catch(
    (error: { code: string }) => error.code,
  );

test("of two invitations to an address that are accepted at once, one gets its user", async () => {
  const invitations = [await invite(), await invite()];
  const outcomes = await Promise.all(
    invitations.map(({ accept }, i) => accept([OWN, THEIRS][i] ?? "")),
  );
  expect(outcomes.filter((outcome) => outcome === "invalid_request")).toHaveLength(1);
  const lost = outcomes.indexOf("invalid_request");
  // The other one is still good, in the session of the user who is there now.
  const browser = await signedIn([THEIRS, OWN][lost] ?? "");
  expect(await invitations[lost]?.accept("ignored", await userOf(browser))).toStartWith("acct_");
});

test("who proves the address gets it, and nothing of what somebody did under it before", async () => {
  const { account, accept } = await invite();
  await accept(THEIRS);
  const before = await signedIn(THEIRS);
  const person = { email: address.toUpperCase(), name: "Real", password: OWN };
  // A password that is refused takes nothing away.
  const weak = await services.members
    .createProven({ ...person, password: "password12" })
    .catch(reasonOf);
  expect([weak, await see(before)]).toEqual(["invalid_request", expect.any(Object)]);

  const id = await services.members.createProven(person);
  expect(await see(before)).toBe("unauthorized");
  expect(await browse().signIn(THEIRS)).toBe("unauthorized");
  expect(await see(await signedIn(OWN))).toEqual({
    user: { id, email: address, name: "Real" },
    accounts: [],
  });
  expect((await services.members.list(account)).members).toEqual([]);
  const [event] = await postgres.sql<{ type: string }[]>`
    select type from events where account_id = ${account} and type = 'member.removed'`;
  expect(event).toBeDefined();
  // From then on nobody else gets it.
  const again = await services.members
    .createProven({ ...person, password: THEIRS })
    .catch(reasonOf);
  expect(again).toBe("invalid_request");
  expect(await (await invite()).accept(THEIRS)).toBe("invalid_request");
  // A device cookie of the user before belongs to nobody: it gives no attempts of its own. One has
  // been used above.
  for (let i = 0; i < 9; i++) expect(await browse().signIn("wrong")).toBe("unauthorized");
  expect(await before.signIn("wrong")).toBe("rate_limited");
});

test("an invitation is good for one password, and for another try when it is too weak", async () => {
  const invitation = await invite();
  expect(await invitation.accept("password12")).toBe("invalid_request");
  const outcomes = await Promise.all(
    ["lemon-quarry-violet", "copper-meadow-ticket", "silver-canyon-basket"].map((password) =>
      invitation.accept(password),
    ),
  );
  // The others find the invitation used, or somebody who has the address.
  expect(outcomes.filter((outcome) => outcome.startsWith("acct_"))).toHaveLength(1);
  const [{ count } = { count: 0 }] = await postgres.sql<{ count: number }[]>`
    select count(*)::integer as count from users where email = ${address}`;
  expect(count).toBe(1);
});

test("guesses at a password are as many as the limit says, whoever else the guesser signs in as", async () => {
  await join(OWN);
  // What the guesser may do under the address: nothing, so they have only their guesses.
  expect(await join(THEIRS)).toBe("invalid_request");
  const guesser = browse();
  let guesses = 0;
  while (guesses < 60 && (await guesser.signIn(`wrong-${guesses}`)) === "unauthorized") {
    guesses++;
    if (guesses % 4 === 0) await guesser.signIn(THEIRS);
  }
  // The tries at the guesser's own password count, too.
  expect(guesses).toBe(8);
});

test("guesses that arrive at once are as many as the limit says", async () => {
  await join(OWN);
  services.hashed.length = 0;
  const outcomes = await Promise.all(
    Array.from({ length: 40 }, (_, i) => browse().signIn(`wrong-${i}`)),
  );
  expect(outcomes.filter((outcome) => outcome === "unauthorized")).toHaveLength(10);
  expect(services.hashed).toHaveLength(10);
});

test("a right password gives its own attempt back, and none that others have used", async () => {
  await join(OWN);
  for (let i = 0; i < 9; i++) expect(await browse().signIn("wrong")).toBe("unauthorized");
  for (let i = 0; i < 3; i++) expect(await browse().signIn(OWN)).toBe("in");
  expect(await browse().signIn("wrong")).toBe("unauthorized");
  expect(await browse().signIn("wrong")).toBe("rate_limited");
  expect(await browse().signIn(OWN)).toBe("rate_limited");
});

test("guesses of strangers lock nobody out of a device on which they have signed in", async () => {
  await join(OWN);
  const known = await signedIn(OWN);
  while ((await browse().signIn("wrong")) === "unauthorized");
  expect(await browse().signIn(OWN)).toBe("rate_limited");
  expect(await known.signIn(OWN)).toBe("in");
  // The device has a limit of its own.
  for (let i = 0; i < 10; i++) expect(await known.signIn("wrong")).toBe("unauthorized");
  expect(await known.signIn(OWN)).toBe("rate_limited");
});

test("a device of somebody who knew an earlier password has no attempts of its own", async () => {
  await join(OWN);
  const [owner, former] = [await signedIn(OWN), await signedIn(OWN)];
  owner.keep(
    await services.sessions.changePassword(await owner.session(), OWN, THEIRS, owner.client),
  );
  for (let i = 0; i < 10; i++) expect(await former.signIn("wrong")).toBe("unauthorized");
  expect(await browse().signIn("wrong")).toBe("rate_limited");
  // The device that changed it is known still.
  expect(await owner.signIn(THEIRS)).toBe("in");
});

test("a wrong sign-in is as much work, and is limited alike, whether or not the address has a user", async () => {
  const nobody = address.replace("person", "nobody");
  const proven = address.replace("person", "proven");
  await join(OWN);
  await services.members.createProven({ email: proven, name: "Real", password: OWN });
  for (const email of [address, nobody, proven]) {
    services.hashed.length = 0;
    const outcomes: string[] = [];
    for (let i = 0; i < 11; i++) outcomes.push(await browse(email).signIn("wrong"));
    expect([email, services.hashed.length, ...new Set(outcomes)]).toEqual([
      email,
      10,
      "unauthorized",
      "rate_limited",
    ]);
  }
});

test("a user who signs in too often is limited, and nobody else", async () => {
  const limited = new SessionServices(postgres, { limit: 2, seconds: 900 });
  await join(OWN);
  for (let i = 0; i < 2; i++) expect(await browse(address, limited).signIn(OWN)).toBe("in");
  expect(await browse(address, limited).signIn(OWN)).toBe("rate_limited");
  address = `another-${address}`;
  await join(OWN);
  expect(await browse(address, limited).signIn(OWN)).toBe("in");
});

test("a user has some sessions at most: a new one ends that which was not seen for longest", async () => {
  await join(OWN);
  const first = await signedIn(OWN);
  const { id } = await userOf(first);
  await postgres.sql`
    update sessions set updated_at = now() - interval '1 hour' where user_id = ${id}`;
  await postgres.sql`
    insert into sessions (user_id, token, expires_at, updated_at)
    select ${id}, gen_random_uuid()::text, now() + interval '1 day', now() - interval '1 minute'
      from generate_series(1, 60) i`;
  const others = await Promise.all([signedIn(OWN), signedIn(OWN)]);
  const [{ count } = { count: 0 }] = await postgres.sql<{ count: number }[]>`
    select count(*)::integer as count from sessions where user_id = ${id}`;
  expect(count).toBe(50);
  expect(await see(first)).toBe("unauthorized");
  for (const other of others) expect(await see(other)).toBeObject();
});

test.each<[string, string, (of: Browser, account: Uuid, id: Uuid) => Promise<unknown>]>([
  [
    "their session ends",
    "unauthorized",
    async (of) => await services.sessions.signOut(await of.session(), of.client, true),
  ],
  [
    "their session has expired",
    "unauthorized",
    (_, __, id) =>
      postgres.sql`update sessions set expires_at = now() - interval '1 s' where user_id = ${id}`,
  ],
  [
    "they are removed",
    "not_found",
    (_, account, id) =>
      postgres.sql`delete from members where account_id = ${account} and user_id = ${id}`,
  ],
  [
    "their role allows it no longer",
    "forbidden",
    (_, account, id) => services.members.add(account, id, "viewer"),
  ],
])("what lasts longer than a request is no longer a user's when %s", async (_, reason, happens) => {
  await join(OWN);
  const browser = await signedIn(OWN);
  const { id } = await userOf(browser);
  const account = await postgres.addAccount();
  await services.members.add(account, id, "owner");
  const authenticator = new SessionAuthenticator(services.sessions, services.members);
  const call: Call = { address: newNetwork(), requestId: "" };
  const url = `http://localhost/api/${encodeId("acct", account)}/live/v1/events`;
  const request = new Request(url, { headers: browser.client.headers });
  const access = { scope: "events:read", endpoint: null, cost: 1 } as const;
  await authenticator.authenticate({ call, request, headers: {} }, access);
  const confirm = confirmOf(call);
  await confirm();
  await happens(browser, account, id);
  expect(await confirm().catch(reasonOf)).toBe(reason);
});
