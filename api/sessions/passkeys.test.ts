/**
 * Goal: a passkey signs its user in, and nothing that resembles one does: each answer of an
 * authenticator works once, for this site, and only if it has asked who is there. Method: a real
 * PostgreSQL, and an authenticator of the tests' own.
 */
import { beforeEach, describe, expect, test } from "bun:test";

import { newUuid } from "../../shared/ids.ts";
import { Authenticator } from "../../test/harness/authenticator.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { outcomeOf, reasonOf } from "../../test/harness/outcomes.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { Browser, SessionServices } from "../../test/harness/session-services.ts";

const PASSWORD = "tomato-harbor-lantern";
const HERE = { origin: "http://localhost" };
const ELSEWHERE = { origin: "http://localhost.evil.example" };

const postgres = await forFile(startPostgres());
const services = new SessionServices(postgres);

let people = 0;

async function addPerson(): Promise<Browser> {
  const email = `person-${++people}@example.com`;
  await services.users.create({ email, name: "Somebody", password: PASSWORD });
  const browser = new Browser(services, email);
  await browser.signIn(PASSWORD);
  return browser;
}

/** Makes a passkey for who is signed in at `by`, and adds it for who is at `to`. */
async function add(
  by: Browser,
  authenticator: Authenticator,
  settings: { origin: string; isVerified?: boolean } = HERE,
  to = by,
): Promise<void> {
  const { passkeys } = services;
  const { options, cookies } = await passkeys.begin(await by.session(), PASSWORD, by.client);
  to.keep(cookies);
  const response = authenticator.create(options["challenge"], settings);
  await passkeys.add(await to.session(), { response, name: "This machine" }, to.client);
}

/** A browser of nobody that has been asked for a passkey. */
async function challenge() {
  const browser = new Browser(services, "");
  const { options, cookies } = await services.passkeys.challenge(browser.client);
  browser.keep(cookies);
  return { browser, challenge: options["challenge"] };
}

/** The address of who is signed in, or the error's code. */
async function signIn(
  authenticator: Authenticator,
  settings: { origin: string; isVerified?: boolean } = HERE,
): Promise<string> {
  const asked = await challenge();
  const answer = authenticator.get(asked.challenge, settings);
  return await services.passkeys.signIn(answer, asked.browser.client).then(async (cookies) => {
    asked.browser.keep(cookies);
    return (await asked.browser.session()).user.email;
  }, reasonOf);
}

describe("a passkey", () => {
  let person: Browser;
  let authenticator: Authenticator;
  beforeEach(async () => {
    person = await addPerson();
    authenticator = new Authenticator();
    await add(person, authenticator);
  });

  test("signs its user in, again and again, also in the place of a code", async () => {
    expect(await signIn(authenticator)).toBe(person.email);
    expect(await signIn(authenticator)).toBe(person.email);
    await postgres.sql`update users set has_second_factor = true where email = ${person.email}`;
    expect(await signIn(authenticator)).toBe(person.email);
    const rows = await services.passkeys.list(await person.session());
    expect(rows.map(({ name }) => name)).toEqual(["This machine"]);
  });

  test("answers one challenge once, and for this site alone", async () => {
    const asked = await challenge();
    const answer = authenticator.get(asked.challenge, HERE);
    const use = ({ client }: Browser) => outcomeOf(services.passkeys.signIn(answer, client));
    expect([await use(asked.browser), await use(asked.browser)]).toEqual(["done", "unauthorized"]);
    const { browser: other } = await challenge();
    expect(await use(other)).toBe("unauthorized");
    expect(await use(new Browser(services, ""))).toBe("unauthorized");
    expect(await signIn(authenticator, ELSEWHERE)).toBe("unauthorized");
    expect(await signIn(new Authenticator())).toBe("unauthorized");
    expect(await signIn(authenticator)).toBe(person.email);
  });

  test("is worth nothing when the authenticator has not asked who is there", async () => {
    expect(await signIn(authenticator, { ...HERE, isVerified: false })).toBe("unauthorized");
    const other = new Authenticator();
    const unverified = add(person, other, { ...HERE, isVerified: false });
    expect(await outcomeOf(unverified)).toBe("invalid_request");
    expect(await outcomeOf(add(person, other, ELSEWHERE))).toBe("invalid_request");
    expect(await signIn(other)).toBe("unauthorized");
  });

  test("is added and removed with the password, and only by its user", async () => {
    const { passkeys } = services;
    const [row] = await passkeys.list(await person.session());
    const stranger = await addPerson();
    const remove = async (by: Browser, password: string, id = row?.id) =>
      await outcomeOf(passkeys.remove(await by.session(), id, password, by.client));
    expect(await remove(stranger, PASSWORD)).toBe("not_found");
    expect(await remove(person, "not the password")).toBe("invalid_request");
    expect(await remove(person, PASSWORD, newUuid())).toBe("not_found");
    expect(await remove(person, PASSWORD)).toBe("done");
    expect(await signIn(authenticator)).toBe("unauthorized");
    const begin = passkeys.begin(await person.session(), "wrong", person.client);
    expect(await outcomeOf(begin)).toBe("invalid_request");
  });

  test("is in the ledger: added, used, refused and removed", async () => {
    const accountId = await postgres.addAccount();
    const session = await person.session();
    await services.members.add(accountId, session.user.id, "member");
    const other = new Authenticator();
    await add(person, other);
    await signIn(other);
    await signIn(other, { ...HERE, isVerified: false });
    const [, row] = await services.passkeys.list(session);
    await services.passkeys.remove(session, row?.id, PASSWORD, person.client);
    const events = await postgres.sql<{ type: string; what: string }[]>`
      select type, coalesce(data->>'change', data->>'method') as what from events
       where account_id = ${accountId} and type <> 'member.joined' order by id`;
    expect(events.map(({ type, what }) => `${type}: ${what}`)).toEqual([
      "user.second_factor_changed: passkey added",
      "session.started: passkey",
      "session.refused: passkey",
      "user.second_factor_changed: passkey removed",
    ]);
  });

  test("that another user has made is not added to one's own", async () => {
    const other = await addPerson();
    const mixed = add(person, new Authenticator(), HERE, other);
    expect(await outcomeOf(mixed)).toBe("invalid_request");
    expect(await services.passkeys.list(await other.session())).toEqual([]);
  });

  test("is one of a bounded number", async () => {
    for (let i = 1; i < 20; i++) await add(person, new Authenticator());
    expect(await outcomeOf(add(person, new Authenticator()))).toBe("invalid_request");
  });
});
