/**
 * Goal: who forgot their password gets back in by a link, and nobody else does: a link works once,
 * for an hour and for its user, and who asks for one learns nothing of who has an address. Method:
 * a real PostgreSQL, and a real SMTP server on loopback.
 */
import { beforeEach, describe, expect, test } from "bun:test";

import { WINDOWS } from "../../shared/budgets.ts";
import { RESET_MINUTES, type Role } from "../../shared/contracts/users.ts";
import type { Uuid } from "../../shared/ids.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { mailQueue } from "../../test/harness/mail-queue.ts";
import { outcomeOf, reasonOf } from "../../test/harness/outcomes.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { Browser, ORIGIN, SessionServices } from "../../test/harness/session-services.ts";
import { headerOf, partOf, SmtpServer } from "../../test/harness/smtp.ts";
import { hashToken } from "../auth/api-key.ts";
import { deleteExpiredRows } from "../expired-rows.ts";
import { type Actor, OPERATOR } from "../http/principal.ts";
import { applyReset, makeReset, resetPath } from "./resets.ts";

const FORGOTTEN = "tomato-harbor-lantern";
const NEXT = "pepper-anchor-window";
const OTHER = "copper-meadow-violin";

const postgres = await forFile(startPostgres());
const services = new SessionServices(postgres);

type Person = { id: Uuid; email: string };

let people = 0;
async function addPerson(accountId?: Uuid, role: Role = "member"): Promise<Person> {
  const email = `person-${++people}@example.com`;
  const id = await services.users.create({ email, name: "Somebody", password: FORGOTTEN });
  if (accountId !== undefined) await services.members.add(accountId, id, role);
  return { id, email };
}

/** A browser that is signed in, or the error's code. */
async function signIn({ email }: Person, password: string): Promise<Browser | string> {
  const browser = new Browser(services, email);
  const outcome = await browser.signIn(password);
  return outcome === "in" ? browser : outcome;
}

const isSignedIn = (browser: Browser | string): Promise<string> =>
  browser instanceof Browser ? outcomeOf(browser.session()) : Promise.resolve("none");

const use = (token: string, password = NEXT) =>
  outcomeOf(services.resets.use(token, password, ORIGIN));

const tokenFor = async ({ id }: Person) => (await makeReset(postgres.sql, id)).token;

const expire = ({ id }: Person) => postgres.sql`
  update password_resets set expires_at = now() - interval '1 second' where user_id = ${id}`;

describe("a link to set a new password", () => {
  let person: Person;
  beforeEach(async () => void (person = await addPerson()));

  test("sets it, and ends every session", async () => {
    const session = await signIn(person, FORGOTTEN);
    const token = await tokenFor(person);
    expect(await services.resets.find(token)).toMatchObject({ email: person.email });
    expect([await isSignedIn(session), await use(token)]).toEqual(["done", "done"]);
    expect(await isSignedIn(session)).toBe("unauthorized");
    expect(await signIn(person, FORGOTTEN)).toBe("unauthorized");
    expect(await isSignedIn(await signIn(person, NEXT))).toBe("done");
  });

  test("leaves no session of a sign-in that compared the earlier password", async () => {
    const tokenHash = hashToken(await tokenFor(person));
    const hash = await Bun.password.hash(NEXT, { algorithm: "bcrypt", cost: 4 });
    const listSessions = () => postgres.sql`select from sessions where user_id = ${person.id}`;
    const begun = await postgres.sql.begin(async (sql) => {
      expect(await applyReset(sql, tokenHash, hash)).toBe(person.id);
      const signingIn = signIn(person, FORGOTTEN);
      await eventually(async () => expect(await listSessions()).toHaveLength(1), 20_000);
      // Not awaited here: it waits for this transaction.
      return { signingIn };
    });
    expect(await begun.signingIn).toBe("unauthorized");
    expect(await listSessions()).toHaveLength(0);
    expect(await isSignedIn(await signIn(person, NEXT))).toBe("done");
  });

  test("works once, also when it is used by many at the same moment", async () => {
    const token = await tokenFor(person);
    const used = await Promise.all(Array.from({ length: 8 }, (_, i) => use(token, `${NEXT}-${i}`)));
    expect(used.toSorted()).toEqual(["done", ...Array.from({ length: 7 }, () => "not_found")]);
    expect(await use(token, OTHER)).toBe("not_found");
    expect(await outcomeOf(services.resets.find(token))).toBe("not_found");
    expect(await signIn(person, OTHER)).toBe("unauthorized");
  });

  test("takes the user's other links with it", async () => {
    const [one, other] = [await tokenFor(person), await tokenFor(person)];
    expect([await use(one), await use(other, OTHER)]).toEqual(["done", "not_found"]);
  });

  test("works for an hour", async () => {
    const { token, expires_at } = await makeReset(postgres.sql, person.id);
    const minutes = (expires_at.getTime() - Date.now()) / 60_000;
    expect([minutes > RESET_MINUTES - 1, minutes < RESET_MINUTES + 1]).toEqual([true, true]);
    await expire(person);
    expect(await outcomeOf(services.resets.find(token))).toBe("not_found");
    expect(await use(token)).toBe("not_found");
    expect(await isSignedIn(await signIn(person, FORGOTTEN))).toBe("done");
    await deleteExpiredRows(postgres.sql);
    expect(
      await postgres.sql`select from password_resets where user_id = ${person.id}`,
    ).toHaveLength(0);
  });

  test("concerns its own user alone", async () => {
    const other = await addPerson();
    const theirs = await tokenFor(other);
    const session = await signIn(other, FORGOTTEN);
    expect(await use(await tokenFor(person))).toBe("done");
    expect(await isSignedIn(session)).toBe("done");
    expect(await signIn(other, NEXT)).toBe("unauthorized");
    expect(await services.resets.find(theirs)).toMatchObject({ email: other.email });
  });

  test("stays valid when the password is too easy to guess", async () => {
    const token = await tokenFor(person);
    expect(await use(token, "password12")).toBe("invalid_request");
    expect(await use(token, person.email)).toBe("invalid_request");
    expect(await use(token)).toBe("done");
  });

  test.each(["", "x", "a".repeat(43), "' or true --", "\u0000"])("is none: %j", async (token) => {
    await tokenFor(person);
    expect(await use(token)).toBe("not_found");
  });

  test("is stored as a hash only, and few of a user are valid at once", async () => {
    const tokens: string[] = [];
    for (let i = 0; i < 30; i++) tokens.push(await tokenFor(person));
    const rows = await postgres.sql<{ row: string }[]>`
      select password_resets::text as row from password_resets where user_id = ${person.id}`;
    expect(rows.length).toBe(10);
    for (const token of tokens) expect(JSON.stringify(rows)).not.toContain(token);
    expect(await use(tokens.at(-1) ?? "")).toBe("done");
  });

  test("ends when the password is changed in another way", async () => {
    const token = await tokenFor(person);
    expect(await services.users.setPassword(person.email, OTHER)).toBe(true);
    expect(await use(token)).toBe("not_found");
  });
});

const request = (email: string, language = "en") =>
  outcomeOf(services.resets.request(email, language));

describe("a request for a mail", () => {
  beforeEach(async () => void (await postgres.sql`delete from report_mails`));

  test("gets one to the address, in its language, with a link that works", async () => {
    await using smtp = await SmtpServer.start();
    const person = await addPerson();
    const outcomes: string[] = [];
    expect(await request(person.email.toUpperCase(), "de")).toBe("done");
    expect(
      await postgres.sql`select from password_resets where user_id = ${person.id}`,
    ).toHaveLength(0);
    await mailQueue(postgres.sql, smtp.url, outcomes).sendWaiting();
    const [mail] = smtp.received;
    if (mail === undefined) throw new Error("There is no mail.");
    expect([smtp.received.length, mail.to, outcomes]).toEqual([1, [person.email], ["sent"]]);
    expect(headerOf(mail, "content-language")).toBe("de");
    const text = partOf(mail, "text/plain");
    expect(text).toContain("60 Minuten");
    const url = `https://app.example.com${resetPath("")}`;
    const token = text.split(url)[1]?.slice(0, 43) ?? "";
    expect(partOf(mail, "text/html")).toContain(`href="${url}${token}"`);
    expect(await use(token)).toBe("done");
    expect(await isSignedIn(await signIn(person, NEXT))).toBe("done");
  });

  test("is answered alike whether somebody has the address or not, also beyond the limit", async () => {
    const { email } = await addPerson();
    const { limit } = WINDOWS.password_resets_of_user;
    const outcomes = async (address: string) => {
      const all: string[] = [];
      for (let i = 0; i < limit + 2; i++) all.push(await request(address));
      return all;
    };
    const expected = [
      ...Array.from({ length: limit }, () => "done"),
      "rate_limited",
      "rate_limited",
    ];
    expect(await outcomes(email)).toEqual(expected);
    expect(await outcomes(`nobody-${email}`)).toEqual(expected);
    // In whatever case the address is written.
    expect(await request(email.toUpperCase())).toBe("rate_limited");
    const mails = await postgres.sql`
      select from report_mails mail join users on users.id = user_id where users.email = ${email}`;
    expect(mails.length).toBe(limit);
  });

  test("many at once for an address get no more mails than the limit", async () => {
    const { email } = await addPerson();
    const all = await Promise.all(Array.from({ length: 20 }, () => request(email)));
    const { limit } = WINDOWS.password_resets_of_user;
    expect(all.filter((outcome) => outcome === "done").length).toBe(limit);
  });

  test("is forgotten when it could not be sent for an hour, or its user is gone", async () => {
    await using smtp = await SmtpServer.start();
    const [late, gone] = [await addPerson(), await addPerson()];
    await request(late.email);
    await postgres.sql`update report_mails set created_at = now() - interval '61 minutes'`;
    await request(gone.email);
    await services.members.removeUser(gone.email);
    await mailQueue(postgres.sql, smtp.url, []).sendWaiting();
    expect(smtp.received).toEqual([]);
    expect(await postgres.sql`select from report_mails`).toHaveLength(0);
  });
});

const eventsOf = async (account: Uuid) =>
  await postgres.sql<{ object: Uuid; actor: string }[]>`
    select object_id as object, actor->>'type' as actor from events
     where account_id = ${account} and type = 'member.reset_link_created'`;

describe("an owner's link for a member", () => {
  let accountId: Uuid;
  let owner: Person;
  beforeEach(async () => {
    accountId = await postgres.addAccount();
    owner = await addPerson(accountId, "owner");
  });
  const as = ({ id }: Person): { accountId: Uuid; actor: Actor } => ({
    accountId,
    actor: { type: "user", id },
  });
  const make = (member: Person) => services.members.makeReset(as(owner), member.id);

  test("works as one by mail, and is recorded without its token", async () => {
    const member = await addPerson(accountId);
    const { token } = await make(member);
    const events = await eventsOf(accountId);
    expect(events.map(({ object }) => object)).toEqual([member.id]);
    expect(JSON.stringify(await postgres.sql`select * from events`)).not.toContain(token);
    expect(await use(token)).toBe("done");
    expect(await isSignedIn(await signIn(member, NEXT))).toBe("done");
  });

  test("is refused for oneself, for others' members, and for members of other accounts too", async () => {
    const others = await postgres.addAccount();
    const [foreign, both] = [await addPerson(others), await addPerson(accountId)];
    await services.members.add(others, both.id, "owner");
    expect(await outcomeOf(make(owner))).toBe("invalid_request");
    expect(await outcomeOf(make(foreign))).toBe("not_found");
    expect(await outcomeOf(make(both))).toBe("forbidden");
    expect(await outcomeOf(services.members.makeReset(as(owner), undefined))).toBe("not_found");
    expect(await eventsOf(accountId)).toHaveLength(0);
  });

  test("does not get its owner into an account that the member joins afterwards", async () => {
    const member = await addPerson(accountId);
    const { token } = await make(member);
    await services.members.add(await postgres.addAccount(), member.id, "owner");
    expect(await use(token)).toBe("not_found");
  });

  test("and a join at the same moment leave no link to a member of two accounts", async () => {
    for (let i = 0; i < 10; i++) {
      const member = await addPerson(accountId);
      const others = await postgres.addAccount();
      const [made] = await Promise.allSettled([
        make(member),
        services.members.add(others, member.id, "owner"),
      ]);
      if (made.status === "fulfilled") expect(await use(made.value.token)).toBe("not_found");
      else expect(reasonOf(made.reason)).toBe("forbidden");
    }
  });

  test("is the operator's for anybody, recorded in each of their accounts", async () => {
    const others = await postgres.addAccount();
    await services.members.add(others, owner.id, "viewer");
    const reset = await services.members.makeOperatorReset(owner.email.toUpperCase());
    for (const account of [accountId, others])
      expect((await eventsOf(account)).map(({ actor }) => actor)).toEqual([OPERATOR.type]);
    expect(await use(reset?.token ?? "")).toBe("done");
    expect(await services.members.makeOperatorReset("nobody@example.com")).toBeUndefined();
  });
});
