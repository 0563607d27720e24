import { admin } from "./admin.ts";
/** People of the dashboard, and their sessions as a browser would have them. */
import { type Answer, call } from "./api.ts";
import type { Stack } from "./stack.ts";

export type Person = { email: string; password: string; id: string };

let made = 0;
let asked = 0;

/** Makes somebody who can sign in, as a member of the account when one is given. */
export async function createPerson(
  stack: Stack,
  account?: string,
  role = "owner",
): Promise<Person> {
  const email = `person-${++made}@example.com`;
  const { id, password } = await admin<{ id: string; password: string }>(stack, [
    "users",
    "create",
    "--email",
    email,
    "--name",
    `Person ${made}`,
    ...(account === undefined ? [] : ["--account", account, "--role", role]),
  ]);
  return { email, password, id };
}

type Ask = { method?: string; body?: unknown; headers?: Record<string, string> };

export type Session = {
  cookie: string;
  /** Asks as a page of the dashboard would. */
  ask(path: string, options?: Ask): Promise<Answer>;
};

/** What a browser sends along with a request of the dashboard's own page. */
export const asPage = (stack: Stack): Record<string, string> => ({
  origin: stack.info().dashboard_url,
  "sec-fetch-site": "same-origin",
  // From everywhere: what is bounded by address is tested with an address of its own.
  "x-forwarded-for": `10.1.${++asked >> 8}.${asked & 255}`,
});

export function sessionOf(stack: Stack, cookie: string): Session {
  return {
    cookie,
    ask: (path, { method, body, headers = {} } = {}) =>
      call(`${stack.info().dashboard_url}${path}`, {
        ...(method === undefined ? {} : { method }),
        ...(body === undefined ? {} : { body }),
        headers: { cookie, ...asPage(stack), ...headers },
      }),
  };
}

/** The session cookie of an answer, as it is sent back; undefined when it sets none. */
export function cookieOf({ headers }: Answer): string | undefined {
  const [cookie] = headers.getSetCookie();
  const pair = cookie?.split(";")[0];
  return pair === undefined || pair.endsWith("=") ? undefined : pair;
}

/** Asks to be let in. */
export const trySignIn = (
  stack: Stack,
  { email, password }: Pick<Person, "email" | "password">,
  headers: Record<string, string> = {},
): Promise<Answer> =>
  call(`${stack.info().dashboard_url}/auth/sign-in`, {
    body: { email, password },
    headers: { ...asPage(stack), ...headers },
  });

export async function signIn(stack: Stack, person: Person): Promise<Session> {
  const answer = await trySignIn(stack, person);
  const cookie = cookieOf(answer);
  if (cookie === undefined) throw new Error(`Not signed in: ${JSON.stringify(answer.body)}`);
  return sessionOf(stack, cookie);
}
