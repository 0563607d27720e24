/**
 * Goal: a passkey signs its user in, and nothing that resembles one does: each answer of an
 * authenticator works once, for this site, and only if it has asked who is there. Method: a real
 * PostgreSQL, and an authenticator of the tests' own.
 */
import { beforeEach, describe, expect, test } from "bun:test";

import { newUuid } from "../../shared/ids.ts";
import { Authenticator } from "../../test/harness/authenticator.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { SessionServices } from "../../test/harness/session-services.ts";
import type { Session } from "../http/principal.ts";
import type { ClientInfo } from "./attempts.ts";

const PASSWORD = "tomato-harbor-lantern";
const HERE = { origin: "http://localhost" };
const ELSEWHERE = { origin: "http://localhost.evil.example" };

const postgres = await forFile(startPostgres());
const services = new SessionServices(postgres);

const reasonOf = (error: unknown): string => (error as { reason: string }).reason;
const outcomeOf = (work: Promise<unknown>): Promise<string> => work.then(() => "done", reasonOf);

let people = 0;
const clientWith = (...cookies: readonly string[]): ClientInfo => ({
  address: `198.51.100.${++people % 250}`,
  origin: { network: "198.51.100.0/24", request_id: "test" },
  headers: new Headers({ cookie: cookies.map((cookie) => cookie.split(";")[0]).join("; ") }),
});

type Person = { email: string; session: Session; cookies: string[] };

async function addPerson(): Promise<Person> {
  const email = `person-${++people}@example.com`;
  await services.users.create({ email, name: "Somebody", password: PASSWORD });
  const { cookies } = await services.sessions.signIn({ email, password: PASSWORD }, clientWith());
  const session = await services.sessions.find(clientWith(...cookies).headers);
  return { email, session, cookies };
}

async function add(
  { session, cookies }: Person,
  authenticator: Authenticator,
  settings: { origin: string; isVerified?: boolean } = HERE,
): Promise<void> {
  const client = clientWith(...cookies);
  const { options, cookies: more } = await services.passkeys.begin(session, PASSWORD, client);
  const made = authenticator.create(options["challenge"], settings);
  const body = { response: made, name: "This machine" };
  await services.passkeys.add(session, body, clientWith(...cookies, ...more));
}

const challenge = () => services.passkeys.challenge(clientWith());

/** The address of who is signed in, or the error's code. */
async function signIn(
  authenticator: Authenticator,
  settings: { origin: string; isVerified?: boolean } = HERE,
): Promise<string> {
  const { options, cookies } = await challenge();
  const answer = authenticator.get(options["challenge"], settings);
  try {
    const signedIn = await services.passkeys.signIn(answer, clientWith(...cookies));
    return (await services.sessions.find(clientWith(...signedIn).headers)).user.email;
  } catch (error) {
    return reasonOf(error);
  }
}

describe("a passkey", () => {
  let person: Person;
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
    const rows = await services.passkeys.list(person.session);
    expect(rows.map(({ name }) => name)).toEqual(["This machine"]);
  });

  test("answers one challenge once, and for this site alone", async () => {
    const { options, cookies } = await challenge();
    const answer = authenticator.get(options["challenge"], HERE);
    const use = () => outcomeOf(services.passkeys.signIn(answer, clientWith(...cookies)));
    expect([await use(), await use()]).toEqual(["done", "unauthorized"]);
    const other = await challenge();
    expect(await outcomeOf(services.passkeys.signIn(answer, clientWith(...other.cookies)))).toBe(
      "unauthorized",
    );
    expect(await outcomeOf(services.passkeys.signIn(answer, clientWith()))).toBe("unauthorized");
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
    const [row] = await passkeys.list(person.session);
    const stranger = await addPerson();
    const remove = ({ session, cookies }: Person, password: string, id = row?.id) =>
      outcomeOf(passkeys.remove(session, id, password, clientWith(...cookies)));
    expect(await remove(stranger, PASSWORD)).toBe("not_found");
    expect(await remove(person, "not the password")).toBe("invalid_request");
    expect(await remove(person, PASSWORD, newUuid())).toBe("not_found");
    expect(await remove(person, PASSWORD)).toBe("done");
    expect(await signIn(authenticator)).toBe("unauthorized");
    const begin = passkeys.begin(person.session, "wrong", clientWith(...person.cookies));
    expect(await outcomeOf(begin)).toBe("invalid_request");
  });

  test("is in the ledger: added, used, refused and removed", async () => {
    const accountId = await postgres.addAccount();
    await services.members.add(accountId, person.session.user.id, "member");
    const other = new Authenticator();
    await add(person, other);
    await signIn(other);
    await signIn(other, { ...HERE, isVerified: false });
    const [, row] = await services.passkeys.list(person.session);
    const client = clientWith(...person.cookies);
    await services.passkeys.remove(person.session, row?.id, PASSWORD, client);
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
    const client = clientWith(...person.cookies);
    const { options, cookies } = await services.passkeys.begin(person.session, PASSWORD, client);
    const made = new Authenticator().create(options["challenge"], HERE);
    const body = { response: made, name: "X" };
    const mixedClient = clientWith(...other.cookies, ...cookies);
    const mixed = services.passkeys.add(other.session, body, mixedClient);
    expect(await outcomeOf(mixed)).toBe("invalid_request");
    expect(await services.passkeys.list(other.session)).toEqual([]);
  });

  test("is one of a bounded number", async () => {
    for (let i = 1; i < 20; i++) await add(person, new Authenticator());
    expect(await outcomeOf(add(person, new Authenticator()))).toBe("invalid_request");
  });
});
