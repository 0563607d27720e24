/**
 * Goal: who has set up a second factor gets in by password and code together, and nobody by less: a
 * code counts once, few wrong ones are accepted, and a recovery code replaces the app once. Method:
 * a real PostgreSQL, and codes by an implementation of RFC 6238 of the tests' own.
 */
import { beforeEach, describe, expect, test } from "bun:test";

import type { Enrolment } from "../../shared/contracts/user-responses.ts";
import { codeOf } from "../../test/harness/authenticator.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { reasonOf } from "../../test/harness/outcomes.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { Browser, SessionServices } from "../../test/harness/session-services.ts";

const PASSWORD = "tomato-harbor-lantern";
const NEXT = "pepper-anchor-window";

const postgres = await forFile(startPostgres());
const services = new SessionServices(postgres);

let people = 0;

/** A browser of a user, whom a password lets in. */
class CodeBrowser extends Browser {
  override signIn(password = PASSWORD): Promise<string> {
    return super.signIn(password);
  }

  /** "in", or the error's code. */
  sendCode(code: string): Promise<string> {
    return services.sessions.signInByCode(code, this.client).then((cookies) => {
      this.keep(cookies);
      return "in";
    }, reasonOf);
  }

  async begin(password = PASSWORD): Promise<Enrolment> {
    return await services.factors.begin(await this.session(), password, this.client);
  }
}

const browserOf = (email: string) => new CodeBrowser(services, email);

async function addPerson(): Promise<CodeBrowser> {
  const email = `person-${++people}@example.com`;
  await services.users.create({ email, name: "Somebody", password: PASSWORD });
  const browser = browserOf(email);
  expect(await browser.signIn()).toBe("in");
  return browser;
}

/** Sets up a second factor, with the code of the step before this one. */
async function enrol(browser: CodeBrowser): Promise<Enrolment> {
  const made = await browser.begin();
  browser.keep(
    await services.factors.confirm(await browser.session(), codeOf(made.uri, -1), browser.client),
  );
  return made;
}

/** The cookie of a sign-in that waits for a code. */
async function challengeOf(email: string): Promise<string> {
  const browser = browserOf(email);
  expect(await browser.signIn()).toBe("code");
  return /[^ ]*two_factor=[^;]*/.exec(browser.client.headers.get("cookie") ?? "")?.[0] ?? "";
}

describe("a user with a second factor", () => {
  let person: CodeBrowser;
  let made: Enrolment;
  let elsewhere: CodeBrowser;
  beforeEach(async () => {
    person = await addPerson();
    made = await enrol(person);
    elsewhere = browserOf(person.email);
  });

  test("signs in with password and code, and with neither alone", async () => {
    expect(await person.isIn()).toBe(true);
    expect(await elsewhere.sendCode(codeOf(made.uri))).toBe("unauthorized");
    expect(await elsewhere.signIn()).toBe("code");
    expect(await elsewhere.isIn()).toBe(false);
    expect(await elsewhere.sendCode("000000")).toBe("unauthorized");
    expect(await elsewhere.sendCode(codeOf(made.uri))).toBe("in");
    expect(await elsewhere.isIn()).toBe(true);
    expect((await elsewhere.session()).user.email).toBe(person.email);
  });

  test("can use a code once", async () => {
    const code = codeOf(made.uri);
    const thief = browserOf(person.email);
    expect([await elsewhere.signIn(), await thief.signIn()]).toEqual(["code", "code"]);
    const outcomes = await Promise.all([elsewhere.sendCode(code), thief.sendCode(code)]);
    expect(outcomes.toSorted()).toEqual(["in", "unauthorized"]);
    expect([await elsewhere.isIn(), await thief.isIn()].filter(Boolean)).toHaveLength(1);
  });

  test("uses each recovery code once in place of the app", async () => {
    const [one = "", two = ""] = made.recovery_codes;
    expect(made.recovery_codes).toHaveLength(10);
    expect([await elsewhere.signIn(), await elsewhere.sendCode(one)]).toEqual(["code", "in"]);
    const again = browserOf(person.email);
    expect([await again.signIn(), await again.sendCode(one)]).toEqual(["code", "unauthorized"]);
    expect(await again.sendCode(two)).toBe("in");
    const session = await again.session();
    expect(await services.factors.state(session)).toEqual({
      enabled: true,
      recovery_codes_left: 8,
    });
    const made2 = await services.factors.replaceCodes(session, PASSWORD, again.client);
    expect(made2).toHaveLength(10);
    const third = browserOf(person.email);
    expect(await third.signIn()).toBe("code");
    expect(await third.sendCode(made.recovery_codes[2] ?? "")).toBe("unauthorized");
    expect(await third.sendCode(made2[0] ?? "")).toBe("in");
  });

  test("starts again after five wrong codes, and waits after ten", async () => {
    const guess = async () => {
      expect(await elsewhere.signIn()).toBe("code");
      for (let i = 0; i < 5; i++) expect(await elsewhere.sendCode("000000")).toBe("unauthorized");
    };
    await guess();
    expect(await elsewhere.sendCode(codeOf(made.uri))).toBe("unauthorized");
    await guess();
    expect(await elsewhere.signIn()).toBe("code");
    expect(await elsewhere.sendCode(codeOf(made.uri))).toBe("rate_limited");
    expect(await elsewhere.isIn()).toBe(false);
  });

  test("is not guessed by many at once", async () => {
    const thieves = Array.from({ length: 40 }, () => browserOf(person.email));
    for (const thief of thieves) expect(await thief.signIn()).toBe("code");
    const outcomes = await Promise.all(thieves.map((thief) => thief.sendCode("000000")));
    expect(outcomes.filter((outcome) => outcome !== "rate_limited").length).toBeLessThanOrEqual(10);
  });

  test.each([
    ["after it", (own: string, other: string) => `${own}; ${other}`, true],
    ["before it", (own: string, other: string) => `${other}; ${own}`, true],
    ["without a blank", (own: string, other: string) => `${own};${other}`, true],
    ["in escapes", (own: string, other: string) => `${other.replace("=2", "=%32")}; ${own}`, false],
    ["in escapes alone", (_: string, other: string) => other.replace("=2", "=%32"), false],
  ])("is not guessed under the cookie of another sign-in: %s", async (_, join, isNamed) => {
    const thief = await addPerson();
    await enrol(thief);
    const cookie = join(await challengeOf(thief.email), await challengeOf(person.email));
    const client = { ...elsewhere.client, headers: new Headers({ cookie }) };
    expect(await services.sessions.signInByCode("000000", client).catch(reasonOf)).toBe(
      "unauthorized",
    );
    const { id } = (await person.session()).user;
    const [row] = await postgres.sql<{ compared: boolean; recorded: boolean }[]>`
      select wrong_codes > 0 as compared,
             exists (select from events where object_id = ${id} and type = 'session.refused') as recorded
        from second_factors where user_id = ${id}`;
    expect(row?.recorded).toBe(isNamed);
    if (!isNamed) expect(row?.compared).toBe(false);
  });

  test("does not get in by a code after a password that is another one now", async () => {
    expect(await elsewhere.signIn()).toBe("code");
    expect(await services.users.setPassword(person.email, NEXT)).toBe(true);
    expect(await elsewhere.sendCode(codeOf(made.uri))).toBe("unauthorized");
    expect(await elsewhere.isIn()).toBe(false);
    expect([await elsewhere.signIn(), await elsewhere.signIn(NEXT)]).toEqual([
      "unauthorized",
      "code",
    ]);
    expect(await elsewhere.sendCode(codeOf(made.uri, 1))).toBe("in");
  });

  test("removes it with the password, and not without", async () => {
    const remove = async (password: string) =>
      person.keep(await services.factors.remove(await person.session(), password, person.client));
    expect(await remove("not the password").catch(reasonOf)).toBe("invalid_request");
    expect(await elsewhere.signIn()).toBe("code");
    await remove(PASSWORD);
    expect(await person.isIn()).toBe(true);
    expect(await browserOf(person.email).signIn()).toBe("in");
  });

  test("loses it, and every session, by the operator", async () => {
    expect(await services.users.removeSecondFactor(person.email)).toBe(true);
    expect(await person.isIn()).toBe(false);
    expect(await elsewhere.signIn()).toBe("in");
    expect(await services.users.removeSecondFactor(person.email)).toBe(false);
    expect(await services.users.removeSecondFactor("nobody@example.com")).toBe(false);
  });

  test("finds no secret in a copy of the database", async () => {
    const rows = JSON.stringify(await postgres.sql`select * from second_factors`);
    const secret = new URL(made.uri).searchParams.get("secret") ?? "none";
    for (const text of [secret, ...made.recovery_codes]) expect(rows).not.toContain(text);
  });
});

describe("setting it up", () => {
  test("changes nothing before a code of the app has come", async () => {
    const person = await addPerson();
    await person.begin();
    expect(await browserOf(person.email).signIn()).toBe("in");
    const { uri } = await person.begin();
    const session = await person.session();
    const confirm = (code: string) => services.factors.confirm(session, code, person.client);
    expect(await confirm("000000").catch(reasonOf)).toBe("invalid_request");
    expect(await browserOf(person.email).signIn()).toBe("in");
    person.keep(await confirm(codeOf(uri)));
    expect(await browserOf(person.email).signIn()).toBe("code");
    expect(await person.begin().catch(reasonOf)).toBe("invalid_request");
  });

  test("ends the sessions that a password alone has begun", async () => {
    const person = await addPerson();
    const other = browserOf(person.email);
    expect(await other.signIn()).toBe("in");
    await enrol(person);
    expect([await person.isIn(), await other.isIn()]).toEqual([true, false]);
  });

  test("is not done again by a session alone, which would tell whether a code is right", async () => {
    const person = await addPerson();
    const { uri } = await enrol(person);
    const session = await person.session();
    for (const code of [codeOf(uri), "000000"])
      expect(await services.factors.confirm(session, code, person.client).catch(reasonOf)).toBe(
        "invalid_request",
      );
    const changes = await postgres.sql`
      select from events where object_id = ${session.user.id} and type = 'user.second_factor_changed'`;
    expect(changes.count).toBe(1);
    expect(await browserOf(person.email).signIn()).toBe("code");
  });

  test("needs the password, whose wrong attempts count", async () => {
    const person = await addPerson();
    const outcomes: string[] = [];
    for (let i = 0; i < 11; i++)
      outcomes.push(await person.begin("not the password").then(() => "made", reasonOf));
    expect(outcomes.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => "invalid_request"));
    expect(outcomes[10]).toBe("rate_limited");
  });
});
