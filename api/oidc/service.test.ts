/**
 * Goal: whom the provider vouches for gets in with the role that it says, and nobody else does: not
 * by another's sign-in, a replayed one, or an address that is not theirs; and who left the provider
 * is out soon. Method: a real PostgreSQL, and a real provider on loopback.
 */
import { beforeEach, describe, expect, test } from "bun:test";

import type { Role } from "../../shared/contracts/users.ts";
import type { Uuid } from "../../shared/ids.ts";
import { processLog } from "../../shared/log.ts";
import { Authenticator } from "../../test/harness/authenticator.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { passProvider, TestProvider } from "../../test/harness/oidc-provider.ts";
import { reasonOf } from "../../test/harness/outcomes.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { People } from "../dashboard/app.ts";
import { PasswordHashing } from "../passwords/hashing.ts";
import { makeReset } from "../sessions/resets.ts";
import { UserService } from "../sessions/users.ts";
import { claimsSchema, type OidcSettings, roleOf } from "./settings.ts";

const ORIGIN = "http://localhost:3001";
const PASSWORD = "tomato-harbor-lantern";
const BREAK_GLASS = "break-glass@corp.example";

const lines: string[] = [];

const postgres = await forFile(startPostgres());
const provider = await forFile(TestProvider.start(ORIGIN));

let accountId: Uuid;
let people: People;

const settingsWith = (more: Partial<OidcSettings> = {}): OidcSettings => ({
  issuer: provider.issuer,
  clientId: provider.clientId,
  clientSecret: provider.clientSecret,
  name: "Corp",
  scopes: ["openid", "email", "profile", "offline_access"],
  accountId,
  roleClaim: "groups",
  roles: [
    { value: "admins", role: "owner" },
    { value: "staff", role: "member" },
  ],
  trustedDomains: ["corp.example"],
  breakGlass: BREAK_GLASS,
  only: false,
  ...more,
});

const log = processLog("api", "info", { write: (line) => void lines.push(line) });

const peopleWith = (more: Partial<OidcSettings> = {}): People =>
  new People(postgres.sql, new PasswordHashing(), ORIGIN, "a secret of this test, long enough", {
    settings: settingsWith(more),
    log,
  });

beforeEach(async () => {
  provider.state = "up";
  accountId = await postgres.addAccount();
  people = peopleWith();
});

const cookieOf = (cookies: readonly string[]): Headers =>
  new Headers({
    cookie: cookies
      .filter((cookie) => !/max-age=0/i.test(cookie))
      .map((cookie) => cookie.split(";")[0])
      .join("; "),
  });

const oidcOf = (of: People) => {
  if (of.oidc === undefined) throw new Error("There is no provider.");
  return of.oidc;
};

const queryOf = (url: URL) => Object.fromEntries(url.searchParams);

/** A sign-in of the one who is at the provider; `change` changes what leads to it, and back. */
async function signIn(
  of: People = people,
  {
    there = (url: URL) => url,
    back = (url: URL) => url,
  }: { there?: (url: URL) => URL; back?: (url: URL) => URL } = {},
): Promise<{ path: string; headers: Headers }> {
  const { url, cookies } = await oidcOf(of).begin(new Headers());
  const callback = back(await passProvider(there(new URL(url)).href, ORIGIN));
  const finished = await oidcOf(of).finish(queryOf(callback), clientOf(cookieOf(cookies)));
  return { path: finished.path, headers: cookieOf(finished.cookies) };
}

const replaced = (name: string, value: string) => (url: URL) => {
  url.searchParams.set(name, value);
  return url;
};

const isIn = (headers: Headers): Promise<boolean> =>
  people.sessions.find(headers).then(
    () => true,
    () => false,
  );

const roles = async (): Promise<Record<string, Role>> => {
  const { members } = await people.members.list(accountId);
  return Object.fromEntries(members.map(({ email, role }) => [email, role]));
};

const REFUSED = { headers: new Headers({ cookie: "" }) };

describe("somebody of the provider", () => {
  test("joins the account with the role that their claims give, and is signed in", async () => {
    const person = provider.meet();
    const { path, headers } = await signIn();
    expect(path).toBe("/");
    const { user } = await people.sessions.find(headers);
    expect(user).toMatchObject({ email: person.email, name: person.name });
    expect(await roles()).toEqual({ [person.email]: "member" });
    const [event] = await postgres.sql`
      select type, actor->>'type' as actor from events where account_id = ${accountId}
       order by sequence`;
    expect(event).toMatchObject({ type: "member.joined", actor: "system" });
  });

  test("has the role of the moment at each sign-in, and none without one", async () => {
    const admin = provider.meet({ groups: ["admins"] });
    await signIn();
    const person = provider.meet();
    const first = await signIn();
    provider.know({ ...person, groups: ["staff", "admins"] });
    expect((await signIn()).path).toBe("/");
    expect(await roles()).toEqual({ [admin.email]: "owner", [person.email]: "owner" });
    provider.know({ ...person, groups: ["strangers"] });
    expect(await signIn()).toEqual({ path: "/?sign-in=no_role", ...REFUSED });
    expect(await roles()).toEqual({ [admin.email]: "owner" });
    expect(await isIn(first.headers)).toBe(false);
    // Nobody else is left who could run the account.
    provider.know({ ...admin, groups: ["staff"] });
    expect(await signIn()).toEqual({ path: "/?sign-in=last_owner", ...REFUSED });
    expect(await roles()).toEqual({ [admin.email]: "owner" });
  });

  test("is not believed without a verified address", async () => {
    provider.meet({ email_verified: false });
    expect(await signIn()).toEqual({ path: "/?sign-in=email_not_verified", ...REFUSED });
    const person = provider.meet();
    await signIn();
    provider.know({ ...person, email_verified: false });
    expect(await signIn()).toEqual({ path: "/?sign-in=email_not_verified", ...REFUSED });
    expect(await roles()).toEqual({ [person.email]: "member" });
  });

  test("is believed where their address is of a domain that the provider has verified, as Entra ID says it", async () => {
    const { email_verified: _, ...person } = provider.meet();
    provider.know(person);
    expect(await signIn()).toEqual({ path: "/?sign-in=email_not_verified", ...REFUSED });
    provider.know({ ...person, xms_edov: true });
    expect((await signIn()).path).toBe("/");
    provider.know({ ...person, xms_edov: false });
    expect(await signIn()).toEqual({ path: "/?sign-in=email_not_verified", ...REFUSED });
    const { email_verified: __, ...local } = provider.meet();
    await addLocal(local.email);
    provider.know({ ...local, xms_edov: true });
    expect((await signIn()).path).toBe("/");
    expect(await roles()).toEqual({ [person.email]: "member", [local.email]: "member" });
  });

  test("gets a role by the domain of their address where no claim is named", async () => {
    const settings = settingsWith({
      roleClaim: undefined,
      roles: [
        { value: "corp.example", role: "member" },
        { value: "*", role: "viewer" },
      ],
    });
    const roleAt = (email: string) =>
      roleOf(settings, claimsSchema.parse({ email, email_verified: true }));
    expect([roleAt("a@CORP.example"), roleAt("a@corp.example.evil")]).toEqual(["member", "viewer"]);
  });
});

const cancel = (url: URL) => {
  url.searchParams.delete("code");
  return replaced("error", "access_denied")(url);
};

describe("a sign-in", () => {
  beforeEach(() => void provider.meet());
  const FAILED = { path: "/?sign-in=failed", ...REFUSED };

  test("is refused with an ID token that another sign-in asked for", async () => {
    expect(await signIn(people, { there: replaced("nonce", "another") })).toEqual(FAILED);
    expect(await roles()).toEqual({});
  });

  test("is refused a second time, and with a code that was used", async () => {
    const { url, cookies } = await oidcOf(people).begin(new Headers());
    const callback = await passProvider(url, ORIGIN);
    const finish = () => oidcOf(people).finish(queryOf(callback), clientOf(cookieOf(cookies)));
    expect((await finish()).path).toBe("/");
    expect((await finish()).path).toBe("/?sign-in=failed");
    const code = callback.searchParams.get("code") ?? "";
    expect(await signIn(people, { back: replaced("code", code) })).toEqual(FAILED);
  });

  test("is refused without PKCE's verifier, from another issuer, and with any nonsense", async () => {
    expect(await signIn(people, { there: replaced("code_challenge", "a".repeat(43)) })).toEqual(
      FAILED,
    );
    expect(await signIn(people, { back: replaced("iss", "https://evil.example") })).toEqual(FAILED);
    const nonsense = { code: "x", state: "\u0000", error: "<script>", iss: "é" };
    for (const [name, value] of Object.entries(nonsense)) {
      const finished = await oidcOf(people).finish({ [name]: value }, clientOf());
      expect(finished.path).toBe("/?sign-in=failed");
    }
    expect(lines.join("")).not.toContain("<script>");
  });

  test("that somebody cancels says so", async () => {
    expect((await signIn(people, { back: cancel })).path).toBe("/?sign-in=access_denied");
  });
});

const clientOf = (headers = new Headers()) => ({
  address: "198.51.100.9",
  origin: { network: "198.51.100.0/24", request_id: "test" },
  headers,
});

const addLocal = async (email: string): Promise<Uuid> => {
  const id = await people.members.createProven({ email, name: "Local", password: PASSWORD });
  await people.members.add(accountId, id, "viewer");
  return id;
};
const byPassword = (email: string, of: People = people): Promise<string> =>
  of.sessions
    .signIn({ email, password: PASSWORD }, { ...clientOf(), address: "198.51.100.1" })
    .then(() => "in", reasonOf);

/** Signs in with a new passkey of a user who has a password. */
async function byPasskey(email: string, of: People = people): Promise<string> {
  const passkey = new Authenticator();
  const client = { ...clientOf(), address: "198.51.100.4" };
  const { cookies } = await people.sessions.signIn({ email, password: PASSWORD }, client);
  const signedIn = { ...client, headers: cookieOf(cookies) };
  const session = await people.sessions.find(signedIn.headers);
  const begun = await people.passkeys.begin(session, PASSWORD, signedIn);
  const made = passkey.create(begun.options["challenge"], { origin: ORIGIN });
  const both = { ...client, headers: cookieOf([...cookies, ...begun.cookies]) };
  await people.passkeys.add(session, { response: made, name: "This machine" }, both);
  const { options, cookies: more } = await of.passkeys.challenge(client);
  const answer = passkey.get(options["challenge"], { origin: ORIGIN });
  return await of.passkeys
    .signIn(answer, { ...client, headers: cookieOf(more) })
    .then(() => "in", reasonOf);
}

describe("an address that somebody has here", () => {
  test("becomes that of the provider's person, of a domain for which it is trusted alone", async () => {
    const trusted = provider.meet();
    const id = await addLocal(trusted.email);
    const { cookies } = await people.sessions.signIn(
      { email: trusted.email, password: PASSWORD },
      { ...clientOf(), address: "198.51.100.2" },
    );
    expect(await byPasskey(trusted.email)).toBe("in");
    const { path, headers } = await signIn();
    expect(path).toBe("/");
    const session = await people.sessions.find(headers);
    expect([session.user.id, await people.passkeys.list(session)]).toEqual([id, []]);
    expect(await roles()).toEqual({ [trusted.email]: "member" });
    // Whoever had the password may be somebody else.
    expect(await isIn(cookieOf(cookies))).toBe(false);
    expect(await byPassword(trusted.email)).toBe("unauthorized");
    expect(await makeReset(postgres.sql, id).catch(reasonOf)).toBe("invalid_request");

    const other = provider.meet({ email: "other@elsewhere.example" });
    await addLocal(other.email);
    expect(await signIn()).toEqual({ path: "/?sign-in=not_linked", ...REFUSED });
    expect(await byPassword(other.email)).toBe("in");
  });

  test("is not that of another person of the provider, nor the one for emergencies", async () => {
    const person = provider.meet();
    await signIn();
    provider.meet({ email: person.email });
    expect(await signIn()).toEqual({ path: "/?sign-in=not_linked", ...REFUSED });
    await addLocal(BREAK_GLASS);
    provider.meet({ email: BREAK_GLASS });
    expect(await signIn()).toEqual({ path: "/?sign-in=break_glass", ...REFUSED });
    expect(await byPassword(BREAK_GLASS)).toBe("in");
    await people.members.removeUser(BREAK_GLASS);
  });

  test("signs in with a password again once the operator has set one", async () => {
    const person = provider.meet();
    const { headers } = await signIn();
    const { user } = await people.sessions.find(headers);
    const users = UserService.forOperators(postgres.sql);
    expect(await users.setPassword(person.email, PASSWORD)).toBe(true);
    expect(await byPassword(person.email)).toBe("in");
    expect((await makeReset(postgres.sql, user.id)).token).toHaveLength(43);
  });

  test("signs in with a password only for emergencies where the provider is the only way", async () => {
    const local = "local@corp.example";
    await addLocal(local);
    await addLocal(BREAK_GLASS);
    const only = peopleWith({ only: true });
    expect([await byPassword(local, only), await byPassword(BREAK_GLASS, only)]).toEqual([
      "unauthorized",
      "in",
    ]);
    expect([await byPassword(local), await byPassword(BREAK_GLASS)]).toEqual(["in", "in"]);
    expect([await byPasskey(local), await byPasskey(local, only)]).toEqual(["in", "unauthorized"]);
    const id = await people.members.removeUser(local).then(() => addLocal(local));
    const { token } = await makeReset(postgres.sql, id);
    expect(
      await only.resets.use(token, "pepper-anchor-window", clientOf().origin).catch(reasonOf),
    ).toBe("forbidden");
    // Sessions that had begun before end, but for one.
    await Promise.all([byPassword(local), byPassword(BREAK_GLASS)]);
    provider.meet();
    const { headers } = await signIn(only);
    await oidcOf(only).confirmSessions();
    const left = await postgres.sql<{ email: string }[]>`
      select distinct email from sessions join users on users.id = user_id
       where email in (${local}, ${BREAK_GLASS})`;
    expect(left.map(({ email }) => email)).toEqual([BREAK_GLASS]);
    expect(await isIn(headers)).toBe(true);
    await people.members.removeUser(BREAK_GLASS);
  });
});

/** As if the provider had last been asked, and had last vouched for everybody, so long ago. */
const pass = async (minutes: number, of: People = people): Promise<void> => {
  await postgres.sql`
    update credentials set asked_at = asked_at - make_interval(mins => ${minutes}),
                           confirmed_at = confirmed_at - make_interval(mins => ${minutes})`;
  await oidcOf(of).confirmSessions();
};

describe("a session", () => {
  test("goes on as long as the provider vouches for its user", async () => {
    provider.meet();
    const { headers } = await signIn();
    for (let i = 0; i < 8; i++) await pass(5);
    expect(await isIn(headers)).toBe(true);
  });

  test("ends within a quarter of an hour after its user left the provider", async () => {
    const person = provider.meet();
    const { headers } = await signIn();
    provider.people.delete(person.sub);
    await pass(5);
    await pass(8);
    await pass(1);
    expect(await isIn(headers)).toBe(false);
  });

  test("ends when the provider cannot be asked for as long", async () => {
    provider.meet();
    const { headers } = await signIn();
    provider.state = "down";
    await pass(5);
    expect(await isIn(headers)).toBe(true);
    expect(oidcOf(people).problem).toContain("responds with 503");
    await pass(8);
    await pass(1);
    expect(await isIn(headers)).toBe(false);
  });

  test("goes on without a refresh token as long as the access token is accepted", async () => {
    provider.meet();
    const { headers } = await signIn();
    await postgres.sql`update credentials set refresh_token = null`;
    await pass(5);
    await pass(5);
    await pass(5);
    expect(await isIn(headers)).toBe(true);
    await postgres.sql`update credentials set access_token = null`;
    await pass(5);
    await pass(8);
    await pass(1);
    expect(await isIn(headers)).toBe(false);
  });

  test("of the owner for emergencies goes on without the provider", async () => {
    await people.members.createProven({ email: BREAK_GLASS, name: "B", password: PASSWORD });
    const { cookies } = await people.sessions.signIn(
      { email: BREAK_GLASS, password: PASSWORD },
      { ...clientOf(), address: "198.51.100.3" },
    );
    provider.state = "down";
    await pass(60);
    await pass(60);
    expect(await isIn(cookieOf(cookies))).toBe(true);
    await people.members.removeUser(BREAK_GLASS);
  });

  test("that its user ends is over, here and at the provider", async () => {
    provider.meet();
    const { headers } = await signIn();
    const session = await people.sessions.find(headers);
    const { url } = await people.sessions.signOut(session, clientOf(headers));
    expect(await isIn(headers)).toBe(false);
    const end = new URL(url ?? "");
    expect(end.href).toStartWith(`${provider.issuer}/session/end`);
    expect(end.searchParams.get("post_logout_redirect_uri")).toBe(`${ORIGIN}/`);
    expect(end.searchParams.get("id_token_hint")?.split(".")).toHaveLength(3);
    expect((await fetch(end, { redirect: "manual" })).status).toBeLessThan(400);
  });

  test("leaves no token of the provider in a copy of the database", async () => {
    provider.meet();
    await signIn();
    const rows = await postgres.sql<{ access_token: string; refresh_token: string }[]>`
      select access_token, refresh_token from credentials where provider_id = 'oidc'`;
    // Tokens of this provider are of 43 characters; encrypted ones are longer.
    for (const row of rows)
      for (const token of [row.access_token, row.refresh_token])
        if (token !== null) expect(token.length).toBeGreaterThan(80);
  });
});

describe("a process that starts while the provider is away", () => {
  test("says so, and asks it about sessions and signs in as soon as it is back", async () => {
    provider.meet();
    const { headers } = await signIn();
    provider.state = "down";
    const later = peopleWith();
    await pass(5, later);
    expect(oidcOf(later).problem).toContain("responds with 503");
    provider.state = "up";
    await pass(5, later);
    expect(oidcOf(later).problem).toBeUndefined();
    await pass(5, later);
    expect(await isIn(headers)).toBe(true);
    expect((await signIn(later)).path).toBe("/");
  });

  test("lets nobody wait for it but those who sign in with it", async () => {
    await people.members.createProven({ email: BREAK_GLASS, name: "B", password: PASSWORD });
    provider.state = "silent";
    const later = peopleWith();
    const begun = oidcOf(later).begin(new Headers()).catch(reasonOf);
    const client = { ...clientOf(), address: "198.51.100.5" };
    const { cookies } = await later.sessions.signIn(
      { email: BREAK_GLASS, password: PASSWORD },
      client,
    );
    const headers = cookieOf(cookies);
    const session = await later.sessions.find(headers);
    const { url } = await later.sessions.signOut(session, { ...client, headers });
    expect([url, await isIn(headers)]).toEqual([undefined, false]);
    expect(await begun).toBe("unavailable");
    expect(oidcOf(later).problem).toContain("does not answer");
    await people.members.removeUser(BREAK_GLASS);
  });
});
